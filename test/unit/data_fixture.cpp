#include "data_fixture.h"

#include <fmt/format.h>

#include <span>

#include "hdf5/structure.h"

namespace lockstep::test {

namespace fs = std::filesystem;

std::int64_t stored_value(std::int64_t id, std::int64_t index) {
  return (id * 7 + (id >> 8) * 31 + index * 3) % 251;
}

namespace {

void write_dataset(const hdf5::File& file, const std::string& name, hid_t type,
                   const std::vector<hsize_t>& extent, const ShardSpec& spec, hid_t memory_type,
                   const void* values) {
  // Chunked datasets may grow, so that a chunk may be larger than what there is, as h5py makes them.
  const std::vector<hsize_t> most(extent.size(), H5S_UNLIMITED);
  const auto space = hdf5::Dataspace(H5Screate_simple(static_cast<int>(extent.size()), extent.data(),
                                                      spec.chunk_rows > 0 ? most.data() : nullptr));
  const auto creation = hdf5::PropertyList(H5Pcreate(H5P_DATASET_CREATE));
  if (spec.chunk_rows > 0) {
    std::vector<hsize_t> chunk = extent;
    chunk[0] = static_cast<hsize_t>(spec.chunk_rows);
    H5Pset_chunk(creation.get(), static_cast<int>(chunk.size()), chunk.data());
    if (spec.gzip > 0) H5Pset_deflate(creation.get(), static_cast<unsigned>(spec.gzip));
  }
  const auto dataset = hdf5::Dataset(
      H5Dcreate2(file.get(), name.c_str(), type, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT));
  hdf5::check(H5Dwrite(dataset.get(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), ExitCode::internal,
              "write test data");
}

void write_targets(const hdf5::File& file, const ShardSpec& spec) {
  std::vector<hsize_t> extent = {static_cast<hsize_t>(spec.rows)};
  std::int64_t width = 1;
  for (const std::int64_t dim : spec.target_shape) {
    extent.push_back(static_cast<hsize_t>(dim));
    width *= dim;
  }
  std::vector<double> targets;
  for (std::int64_t row = 0; row < spec.rows; ++row) {
    for (std::int64_t i = 0; i < width; ++i) targets.push_back(spec.target(spec.first_id + row, i));
  }
  write_dataset(file, "y", spec.y_type, extent, spec, H5T_NATIVE_DOUBLE, targets.data());
}

}  // namespace

void write_shard(const fs::path& path, const ShardSpec& spec) {
  const auto guard = hdf5::lock();
  fs::create_directories(path.parent_path());
  const auto file = hdf5::own<hdf5::File>(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
                                          ExitCode::internal, "create " + path.string());
  std::vector<hsize_t> extent = {static_cast<hsize_t>(spec.rows)};
  std::int64_t elements = 1;
  for (const std::int64_t dim : spec.sample_shape) {
    extent.push_back(static_cast<hsize_t>(dim));
    elements *= dim;
  }
  std::vector<double> x;
  std::vector<std::int64_t> y;
  for (std::int64_t row = 0; row < spec.rows; ++row) {
    const std::int64_t id = spec.first_id + row;
    for (std::int64_t i = 0; i < elements; ++i) x.push_back(static_cast<double>(stored_value(id, i)));
    y.push_back(spec.label(id));
  }
  write_dataset(file, "x", spec.x_type, extent, spec, H5T_NATIVE_DOUBLE, x.data());
  if (H5Tget_class(spec.y_type) == H5T_FLOAT) {
    write_targets(file, spec);
  } else {
    write_dataset(file, "y", spec.y_type, {extent[0]}, spec, H5T_NATIVE_INT64, y.data());
  }
  for (const auto& [name, value] : spec.attributes) hdf5::write_attribute(file.get(), name, value);
  for (const auto& [name, values] : spec.lists) {
    hdf5::write_attribute(file.get(), name, std::span<const double>(values));
  }
}

void edit_file(const fs::path& path, const std::function<void(const hdf5::File&)>& change) {
  const auto guard = hdf5::lock();
  const hdf5::File file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
  change(file);
}

void write_shards(const fs::path& folder, const std::vector<std::int64_t>& rows, ShardSpec spec) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    spec.rows = rows[i];
    write_shard(folder / fmt::format("{:02}.h5", i), spec);
    spec.first_id += rows[i];
  }
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return fmt::format("{}: {}", static_cast<int>(error.code()), error.what());
  }
  return "no error";
}

}  // namespace lockstep::test
