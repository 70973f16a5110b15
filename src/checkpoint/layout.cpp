#include "checkpoint/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "checkpoint/seal.h"
#include "hdf5/serial.h"

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
  hdf5::write_attribute(meta, "format", format_version);
  hdf5::write_attribute(meta, "step", state.step);
  hdf5::write_attribute(meta, "samples", state.samples);
  hdf5::write_attribute(meta, "epoch", state.epoch);
  for (const auto& [key, value] : state.values) {
    const auto* text = std::get_if<std::string>(&value);
    if (text != nullptr && text->size() > longest_attribute) {
      write_texts(file, fmt::format("{}/{}", meta_group, key), text->size(), {}, *text);
    } else {
      std::visit([&meta, &name = key](const auto& plain) { hdf5::write_attribute(meta, name, plain); },
                 value);
    }
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
  const auto guard = hdf5::lock();
  hdf5::File file = hdf5::create_serial(path, seal_bytes);
  write_tensor_list(file, tensors);
  write_state(file, state);
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
  file.close_checked(failure, "close the HDF5 file " + path.string());
  return table_offset;
}

}  // namespace lockstep::checkpoint
