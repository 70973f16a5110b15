#include "checkpoint/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "checkpoint/contents.h"
#include "core/error.h"
#include "core/hash.h"

namespace lockstep::checkpoint {

namespace {

// Puts the file's name before what is wrong with it.
template <typename F>
auto naming(const std::filesystem::path& path, F&& work) {
  try {
    return work();
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("checkpoint {}: {}", path.string(), error.what()));
  }
}

FileDescriptor open_existing(const std::filesystem::path& path) {
  return open_file(path, O_RDONLY, 0, ExitCode::missing_input);
}

// Seal and slab table, as far as they can be believed without the structure hash.
Description read_outline(int fd, const std::filesystem::path& path) {
  Description outline;
  outline.path = path;
  struct stat status {};
  if (::fstat(fd, &status) != 0) throw Error(ExitCode::bad_data, "cannot learn its size");
  std::string seal(std::min<std::size_t>(seal_bytes, static_cast<std::size_t>(status.st_size)), '\0');
  read_exactly(fd, std::as_writable_bytes(std::span(seal)), 0);
  outline.seal = parse_seal(seal);
  if (status.st_size != outline.seal.file_bytes) {
    throw Error(ExitCode::bad_data,
                fmt::format("it has {} bytes, its seal says {}", status.st_size, outline.seal.file_bytes));
  }
  outline.slabs.resize(static_cast<std::size_t>(outline.seal.table_rows));
  read_exactly(fd, std::as_writable_bytes(std::span(outline.slabs)), outline.seal.table_offset);
  return outline;
}

void check_structure(int fd, const Description& outline) {
  const std::uint64_t seen = structure_hash(fd, outline.seal.file_bytes, outline.slabs);
  if (seen != outline.seal.structure_hash) {
    throw Error(ExitCode::bad_data, fmt::format("damaged outside the tensors: hash {:016x}, the seal says "
                                                "{:016x}",
                                                seen, outline.seal.structure_hash));
  }
}

Description describe_open(int fd, const std::filesystem::path& path) {
  Description description = read_outline(fd, path);
  check_structure(fd, description);
  Contents contents = read_contents(path);
  description.state = std::move(contents.state);
  description.tensors = std::move(contents.tensors);
  for (const SlabRecord& slab : description.slabs) {
    if (slab.tensor < 0 || slab.tensor >= static_cast<std::int64_t>(description.tensors.size())) {
      throw Error(ExitCode::bad_data, fmt::format("the slab table names tensor {} of {}", slab.tensor,
                                                  description.tensors.size()));
    }
  }
  return description;
}

}  // namespace

std::int64_t Description::writers() const {
  std::int64_t highest = -1;
  for (const SlabRecord& slab : slabs) highest = std::max(highest, slab.writer);
  return highest + 1;
}

Description describe(const std::filesystem::path& path) {
  return naming(path, [&] { return describe_open(open_existing(path).get(), path); });
}

Verified verify(const std::filesystem::path& path) {
  const FileDescriptor file = naming(path, [&] { return open_existing(path); });
  Verified result;
  Description description;
  try {
    description = describe_open(file.get(), path);
  } catch (const Error& error) {
    if (error.code() != ExitCode::bad_data) throw;
    result.faults.emplace_back(error.what());
    return result;
  }
  std::vector<Hasher> hashers(description.tensors.size());
  std::vector<std::byte> buffer;
  for (const SlabRecord& slab : description.slabs) {
    const auto tensor = static_cast<std::size_t>(slab.tensor);
    try {
      buffer.resize(static_cast<std::size_t>(slab.bytes));
      read_slab(file.get(), slab, description.tensors[tensor], buffer);
      hashers[tensor].update(buffer);
    } catch (const Error& error) {
      result.faults.emplace_back(error.what());
    }
  }
  if (!result.faults.empty()) return result;
  result.state = std::move(description.state);
  for (std::size_t i = 0; i < hashers.size(); ++i) {
    result.hashes[description.tensors[i].name] = hashers[i].digest();
  }
  return result;
}

void read_slab(int fd, const SlabRecord& slab, const TensorInfo& tensor, std::span<std::byte> into) {
  read_exactly(fd, into, slab.offset);
  const std::uint64_t seen = hash64(into);
  if (seen != slab.hash) {
    throw Error(ExitCode::bad_data,
                fmt::format("tensor {} rows {} to {} (written by rank {}) are damaged: hash {:016x}, wanted "
                            "{:016x}",
                            tensor.name, slab.first_row, slab.first_row + slab.rows - 1, slab.writer, seen,
                            slab.hash));
  }
}

}  // namespace lockstep::checkpoint
