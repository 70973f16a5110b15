// The part of a checkpoint that is read through HDF5: state and list of tensors. Inner header of this folder.
#pragma once

#include <filesystem>
#include <vector>

#include "checkpoint/state.h"

namespace lockstep::checkpoint {

struct Contents {
  State state;
  std::vector<TensorInfo> tensors;
};

// Only for files whose structure hash has been verified: HDF5 does not stand up to damaged files. Serial
// driver, no file lock. Throws Error(bad_data).
Contents read_contents(const std::filesystem::path& path);

}  // namespace lockstep::checkpoint
