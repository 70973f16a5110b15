#include "checkpoint/contents.h"

#include <fmt/format.h>

#include "checkpoint/layout.h"
#include "hdf5/serial.h"

namespace lockstep::checkpoint {

namespace {

using hdf5::check;
using hdf5::own;

constexpr ExitCode failure = ExitCode::bad_data;

// A fixed-length text without its padding.
std::string unpadded(const char* begin, std::size_t length) {
  const std::string_view text(begin, length);
  return std::string(text.substr(0, text.find('\0')));
}

Value read_value(const hdf5::Attribute& attribute, const std::string& name) {
  const auto type = own<hdf5::Datatype>(H5Aget_type(attribute.get()), failure, "get the type of " + name);
  switch (H5Tget_class(type.get())) {
    case H5T_INTEGER: {
      std::int64_t value = 0;
      check(H5Aread(attribute.get(), H5T_NATIVE_INT64, &value), failure, "read attribute " + name);
      return value;
    }
    case H5T_FLOAT: {
      double value = 0;
      check(H5Aread(attribute.get(), H5T_NATIVE_DOUBLE, &value), failure, "read attribute " + name);
      return value;
    }
    case H5T_STRING: {
      std::string text(H5Tget_size(type.get()), '\0');
      check(H5Aread(attribute.get(), type.get(), text.data()), failure, "read attribute " + name);
      return unpadded(text.data(), text.size());
    }
    default:
      throw Error(failure, fmt::format("attribute {} is neither a number nor a text", name));
  }
}

void read_attributes(const hdf5::Group& meta, State& state) {
  H5O_info_t info;
  check(H5Oget_info(meta.get(), &info), failure, "count the attributes of /meta");
  for (hsize_t index = 0; index < info.num_attrs; ++index) {
    const auto attribute = own<hdf5::Attribute>(
        H5Aopen_by_idx(meta.get(), ".", H5_INDEX_NAME, H5_ITER_INC, index, H5P_DEFAULT, H5P_DEFAULT), failure,
        "open an attribute of /meta");
    std::string name(static_cast<std::size_t>(H5Aget_name(attribute.get(), 0, nullptr)), '\0');
    H5Aget_name(attribute.get(), name.size() + 1, name.data());
    const Value value = read_value(attribute, name);
    const auto* number = std::get_if<std::int64_t>(&value);
    if (number != nullptr && name == "step") {
      state.step = *number;
    } else if (number != nullptr && name == "samples") {
      state.samples = *number;
    } else if (number != nullptr && name == "epoch") {
      state.epoch = *number;
    } else if (name != "format") {
      state.values[name] = value;
    }
  }
}

// Reads a dataset of fixed-length texts.
std::vector<std::string> read_texts(const hdf5::Dataset& dataset, const std::string& name) {
  const auto type = own<hdf5::Datatype>(H5Dget_type(dataset.get()), failure, "get the type of " + name);
  const auto space = own<hdf5::Dataspace>(H5Dget_space(dataset.get()), failure, "get the space of " + name);
  const auto count = static_cast<std::size_t>(H5Sget_simple_extent_npoints(space.get()));
  const std::size_t length = H5Tget_size(type.get());
  std::string all(count * length, '\0');
  if (count > 0) {
    check(H5Dread(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, all.data()), failure,
          "read " + name);
  }
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < count; ++i) texts.push_back(unpadded(all.data() + i * length, length));
  return texts;
}

hdf5::Dataset open_dataset(const hdf5::File& file, const std::string& name) {
  return own<hdf5::Dataset>(H5Dopen2(file.get(), name.c_str(), H5P_DEFAULT), failure, "open dataset " + name);
}

void read_long_texts(const hdf5::File& file, const hdf5::Group& meta, State& state) {
  H5G_info_t info;
  check(H5Gget_info(meta.get(), &info), failure, "list /meta");
  for (hsize_t index = 0; index < info.nlinks; ++index) {
    const auto name_of = [&](char* into, std::size_t room) {
      return H5Lget_name_by_idx(meta.get(), ".", H5_INDEX_NAME, H5_ITER_INC, index, into, room, H5P_DEFAULT);
    };
    std::string name(static_cast<std::size_t>(name_of(nullptr, 0)), '\0');
    name_of(name.data(), name.size() + 1);
    const std::string path = fmt::format("{}/{}", meta_group, name);
    if (path == slab_table || path == tensor_list) continue;
    state.values[name] = read_texts(open_dataset(file, path), path).at(0);
  }
}

TensorInfo read_tensor_info(const hdf5::File& file, const std::string& name) {
  const auto dataset = open_dataset(file, name);
  const auto type = own<hdf5::Datatype>(H5Dget_type(dataset.get()), failure, "get the type of " + name);
  if (H5Tequal(type.get(), H5T_IEEE_F32LE) <= 0) {
    throw Error(failure, fmt::format("dataset {} is not of type float32", name));
  }
  const auto space = own<hdf5::Dataspace>(H5Dget_space(dataset.get()), failure, "get the space of " + name);
  std::vector<hsize_t> extents(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space.get())));
  H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr);
  return {name, {extents.begin(), extents.end()}};
}

}  // namespace

Contents read_contents(const std::filesystem::path& path) {
  const auto guard = hdf5::lock();
  const auto file = hdf5::open_serial(path);
  const auto meta =
      own<hdf5::Group>(H5Gopen2(file.get(), meta_group, H5P_DEFAULT), failure, "open group /meta");
  Contents contents;
  read_attributes(meta, contents.state);
  read_long_texts(file, meta, contents.state);
  for (const std::string& name : read_texts(open_dataset(file, tensor_list), tensor_list)) {
    contents.tensors.push_back(read_tensor_info(file, name));
  }
  return contents;
}

}  // namespace lockstep::checkpoint
