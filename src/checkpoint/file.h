// A checkpoint on disk, seen by one process without MPI.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/seal.h"
#include "checkpoint/slabs.h"
#include "checkpoint/state.h"
#include "core/files.h"

namespace lockstep::checkpoint {

// Everything about a checkpoint but the tensors' values.
struct Description {
  std::filesystem::path path;
  Seal seal;
  State state;
  std::vector<TensorInfo> tensors;
  std::vector<SlabRecord> slabs;
  std::int64_t writers() const;  // ranks that took part in writing
};

// Reads and checks all of the file but the tensors: seal, table, structure; only then is HDF5 let near it.
// Throws Error(missing_input) if there is no such file, Error(bad_data) if it is damaged, Error(bad_config)
// if its format is newer than this program.
Description describe(const std::filesystem::path& path);

struct Verified {
  std::vector<std::string> faults;  // everything that is wrong with the file, in words; empty: it is intact
  // Of an intact file, which the same values make alike, whoever wrote which of them.
  State state;
  std::map<std::string, std::uint64_t> hashes;  // by tensor: XXH3-64 of its bytes, rows in order
};

// Reads all of the file. Throws Error(missing_input) or Error(bad_config) like describe().
Verified verify(const std::filesystem::path& path);

// Reads one slab into `into` (slab.bytes) and checks its hash; throws Error(bad_data) naming tensor, rows,
// and the hash seen and wanted.
void read_slab(int fd, const SlabRecord& slab, const TensorInfo& tensor, std::span<std::byte> into);

}  // namespace lockstep::checkpoint
