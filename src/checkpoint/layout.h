// The file as one process lays it out: everything but the values of tensors and slab table. Inner header.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "checkpoint/slabs.h"
#include "checkpoint/state.h"
#include "hdf5/handle.h"

namespace lockstep::checkpoint {

// Names inside the file.
inline constexpr const char* meta_group = "/meta";
inline constexpr const char* slab_table = "/meta/slabs";
inline constexpr const char* tensor_list = "/meta/tensors";

// The HDF5 type of a SlabRecord.
hdf5::Datatype slab_record_type();

// Creates the file, or truncates an old one, with the state, the list of tensors, and every dataset in its
// final place, so that nothing but the datasets' values changes afterwards. Fills in the slabs' offsets and
// returns the slab table's (0 without slabs). Throws Error(cannot_create).
std::int64_t lay_out(const std::filesystem::path& path, const State& state,
                     std::span<const TensorInfo> tensors, std::span<SlabRecord> slabs);

}  // namespace lockstep::checkpoint
