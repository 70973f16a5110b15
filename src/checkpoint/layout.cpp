#include "checkpoint/layout.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "checkpoint/seal.h"
#include "core/files.h"
#include "hdf5/structure.h"

namespace lockstep::checkpoint {

namespace {

constexpr ExitCode failure = ExitCode::cannot_create;

// Longer texts become datasets: HDF5 limits attributes to 64 KiB, and object headers are best small.
constexpr std::size_t longest_attribute = 1024;

// `all` holds the texts one after the other, each padded to the type's length.
void write_texts(const hdf5::File& file, const std::string& name, std::size_t length,
                 std::span<const hsize_t> shape, const std::string& all) {
  const hdf5::Datatype type = hdf5::text_type(length);
  const hdf5::Dataset dataset = hdf5::create_dataset(file, name, type.get(), shape);
  if (all.empty()) return;
  hdf5::check(H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, all.data()), failure,
              "write dataset " + name);
}

void write_tensor_list(const hdf5::File& file, std::span<const TensorInfo> tensors) {
  std::size_t length = 1;
  for (const TensorInfo& tensor : tensors) length = std::max(length, tensor.name.size());
  std::string padded;
  for (const TensorInfo& tensor : tensors) {
    padded += tensor.name;
    padded.append(length - tensor.name.size(), '\0');
  }
  const std::vector<hsize_t> shape = {tensors.size()};
  write_texts(file, tensor_list, length, shape, padded);
}

void write_state(const hdf5::File& file, const State& state) {
  const auto meta =
      hdf5::own<hdf5::Group>(H5Gopen2(file.get(), meta_group, H5P_DEFAULT), failure, "open group /meta");
  hdf5::write_attribute(meta.get(), "format", format_version);
  hdf5::write_attribute(meta.get(), "step", state.step);
  hdf5::write_attribute(meta.get(), "samples", state.samples);
  hdf5::write_attribute(meta.get(), "epoch", state.epoch);
  for (const auto& [key, value] : state.values) {
    const auto* text = std::get_if<std::string>(&value);
    if (text != nullptr && text->size() > longest_attribute) {
      write_texts(file, fmt::format("{}/{}", meta_group, key), text->size(), {}, *text);
    } else {
      std::visit([&meta, &name = key](const auto& plain) { hdf5::write_attribute(meta.get(), name, plain); },
                 value);
    }
  }
}

// Fills in the slabs' offsets and returns the slab table's.
std::int64_t place_datasets(const hdf5::File& file, std::span<const TensorInfo> tensors,
                            std::span<SlabRecord> slabs) {
  const std::vector<hsize_t> table_shape = {slabs.size()};
  const std::int64_t table_offset = hdf5::dataset_offset(
      hdf5::create_dataset(file, slab_table, slab_record_type().get(), table_shape), slab_table);
  auto slab = slabs.begin();
  for (std::size_t index = 0; index < tensors.size(); ++index) {
    const TensorInfo& tensor = tensors[index];
    const std::vector<hsize_t> shape(tensor.shape.begin(), tensor.shape.end());
    const std::int64_t offset =
        hdf5::dataset_offset(hdf5::create_dataset(file, tensor.name, H5T_IEEE_F32LE, shape), tensor.name);
    for (; slab != slabs.end() && slab->tensor == static_cast<std::int64_t>(index); ++slab) {
      slab->offset = offset + slab->first_row * row_bytes(tensor.shape);
    }
  }
  return table_offset;
}

[[noreturn]] void fail(std::string_view what, const std::filesystem::path& path) {
  throw Error(failure, fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(errno)));
}

// Builds the file in memory, where nothing should fail to be written: HDF5 1.10 does not recover from a
// failed write of its structures (the file can no longer be closed, and the process crashes in HDF5's exit
// handler). The draft has the size of the whole file, but holes where the tensors go, and its name is gone at
// once.
FileDescriptor draft_file(const State& state, std::span<const TensorInfo> tensors,
                          std::span<SlabRecord> slabs, std::int64_t& table_offset) {
  const auto guard = hdf5::lock();
  std::string name = "/dev/shm/lockstep-layout-XXXXXX";
  FileDescriptor draft(::mkostemp(name.data(), O_CLOEXEC));
  if (!draft) fail("create", name);
  hdf5::File file;
  try {
    file = hdf5::create_structure(name, seal_bytes);
  } catch (...) {
    ::unlink(name.c_str());
    throw;
  }
  ::unlink(name.c_str());
  write_tensor_list(file, tensors);
  write_state(file, state);
  table_offset = place_datasets(file, tensors, slabs);
  file.close_checked(failure, "lay out a checkpoint");
  return draft;
}

void write_exactly(int fd, std::span<const std::byte> bytes, std::int64_t offset,
                   const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t done = ::pwrite(fd, bytes.data(), bytes.size(), offset);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail("write", path);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    offset += done;
  }
}

}  // namespace

hdf5::Datatype slab_record_type() {
  const auto guard = hdf5::lock();
  auto type = hdf5::own<hdf5::Datatype>(H5Tcreate(H5T_COMPOUND, sizeof(SlabRecord)), failure,
                                        "create the slab table's type");
  H5Tinsert(type.get(), "tensor", offsetof(SlabRecord, tensor), H5T_STD_I64LE);
  H5Tinsert(type.get(), "first_row", offsetof(SlabRecord, first_row), H5T_STD_I64LE);
  H5Tinsert(type.get(), "rows", offsetof(SlabRecord, rows), H5T_STD_I64LE);
  H5Tinsert(type.get(), "writer", offsetof(SlabRecord, writer), H5T_STD_I64LE);
  H5Tinsert(type.get(), "offset", offsetof(SlabRecord, offset), H5T_STD_I64LE);
  H5Tinsert(type.get(), "bytes", offsetof(SlabRecord, bytes), H5T_STD_I64LE);
  H5Tinsert(type.get(), "hash", offsetof(SlabRecord, hash), H5T_STD_U64LE);
  return type;
}

std::int64_t lay_out(const std::filesystem::path& path, const State& state,
                     std::span<const TensorInfo> tensors, std::span<SlabRecord> slabs) {
  std::int64_t table_offset = 0;
  const FileDescriptor draft = draft_file(state, tensors, slabs, table_offset);
  const auto bytes = static_cast<std::int64_t>(::lseek(draft.get(), 0, SEEK_END));

  const FileDescriptor file = open_file(path, O_WRONLY | O_CREAT | O_TRUNC, 0644, failure);
  if (::ftruncate(file.get(), bytes) != 0) fail("resize", path);
  // Takes the space now, where the file system can: a full disk or quota shows here, not in mid-write.
  int status = -1;
  do status = ::fallocate(file.get(), 0, 0, bytes);
  while (status != 0 && errno == EINTR);
  if (status != 0 && errno != EOPNOTSUPP && errno != ENOSYS) {
    fail(fmt::format("allocate {} bytes for", bytes), path);
  }
  visit_structure(draft.get(), bytes, slabs, [&](std::span<const std::byte> part, std::int64_t offset) {
    write_exactly(file.get(), part, offset, path);
  });
  return table_offset;
}

}  // namespace lockstep::checkpoint
