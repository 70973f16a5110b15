// Writing one checkpoint, by all ranks together (contract C6).
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "checkpoint/folder.h"
#include "checkpoint/slabs.h"
#include "checkpoint/state.h"
#include "comm/mpi_group.h"

namespace lockstep::checkpoint {

struct SaveReport {
  std::filesystem::path path;
  std::int64_t file_bytes = 0;
  std::vector<std::int64_t> bytes_by_rank;  // tensor bytes that each rank wrote
  std::int64_t transfers = 0;               // collective transfers, each asserted to have stayed collective
  // Seconds on rank 0: creating the file and its datasets, transferring, flushing and closing, sealing and
  // renaming.
  double create_seconds = 0;
  double write_seconds = 0;
  double flush_seconds = 0;
  double publish_seconds = 0;
};

struct SaveOptions {
  Attempt attempt;
  Fence fence = [] {};
  std::int64_t slab_bytes = default_slab_bytes;
};

// Collective; names and shapes are the same on every rank, the state is rank 0's. Writes
// folder/step-<state.step>.h5, replacing a file of that name, and returns when it is durable under its name.
// On failure the temporary file is gone, older checkpoints are untouched, and every rank throws the same
// Error: cannot_create naming rank, host and reason, or what the fence threw, or bad_config for wrong
// arguments. `comm` is for checkpoints alone; the folder exists and all ranks see it.
SaveReport save(comm::MpiGroup& comm, const std::filesystem::path& folder, const State& state,
                std::span<const TensorView> tensors, const SaveOptions& options);

}  // namespace lockstep::checkpoint
