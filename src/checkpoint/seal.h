// The first 512 bytes of a checkpoint: readable text that says that the file is complete, and lets every byte
// outside the tensors be checked before HDF5 looks at any of it (docs/checkpoint-format.md).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "checkpoint/slabs.h"

namespace lockstep::checkpoint {

inline constexpr std::int64_t format_version = 1;
inline constexpr std::size_t seal_bytes = 512;

struct Seal {
  std::int64_t step = 0;
  std::int64_t file_bytes = 0;
  std::int64_t table_offset = 0;  // of the slab table, from the start of the file
  std::int64_t table_rows = 0;
  std::uint64_t structure_hash = 0;  // structure_hash() below
  bool operator==(const Seal&) const = default;
};

// Exactly seal_bytes of text; the last line is the hash of what stands before it.
std::string render(const Seal& seal);

// The seal in `bytes`, which must be what render() makes, byte for byte. Otherwise throws Error(bad_data)
// saying what is wrong; Error(bad_config) for an intact seal of a newer format.
Seal parse_seal(std::string_view bytes);

// Calls `visit(bytes, offset)` for all bytes of the open file outside the seal and the slabs, in file order
// and in pieces. Throws as structure_hash().
void visit_structure(int fd, std::int64_t file_bytes, std::span<const SlabRecord> slabs,
                     const std::function<void(std::span<const std::byte>, std::int64_t)>& visit);

// XXH3-64 over all bytes of the open file outside the seal and the slabs, in file order: HDF5's own
// structures, the slab table, the state, and the gaps. Throws Error(bad_data) where slabs overlap or leave
// the file, or the file is shorter than `file_bytes`.
std::uint64_t structure_hash(int fd, std::int64_t file_bytes, std::span<const SlabRecord> slabs);

// pread of exactly `into.size()` bytes; throws Error(bad_data) at the file's end, Error(internal) on an I/O
// error: that is the node's fault, not the file's.
void read_exactly(int fd, std::span<std::byte> into, std::int64_t offset);

}  // namespace lockstep::checkpoint
