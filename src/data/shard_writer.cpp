#include "data/shard_writer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "core/files.h"
#include "hdf5/serial.h"
#include "hdf5/structure.h"

namespace lockstep::data {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kFormat = 1;

hdf5::Dataset create_dataset(const hdf5::File& file, const fs::path& path, const std::string& name,
                             const std::vector<hsize_t>& extent) {
  const std::string what = fmt::format("create dataset {} of {}", name, path.string());
  const auto space =
      hdf5::own<hdf5::Dataspace>(H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr),
                                 ExitCode::cannot_create, what);
  // Contiguous and allocated at once: readers then need no HDF5 call (Column::file_offset).
  const auto creation =
      hdf5::own<hdf5::PropertyList>(H5Pcreate(H5P_DATASET_CREATE), ExitCode::cannot_create, what);
  hdf5::check(H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_EARLY), ExitCode::cannot_create, what);
  hdf5::check(H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER), ExitCode::cannot_create, what);
  // Without the time of creation in it, the same input gives the same bytes.
  hdf5::check(H5Pset_obj_track_times(creation.get(), false), ExitCode::cannot_create, what);
  return hdf5::own<hdf5::Dataset>(H5Dcreate2(file.get(), name.c_str(), H5T_STD_U8LE, space.get(), H5P_DEFAULT,
                                             creation.get(), H5P_DEFAULT),
                                  ExitCode::cannot_create, what);
}

void write_rows(const hdf5::Dataset& dataset, const fs::path& path, std::vector<hsize_t> count,
                std::int64_t row, const std::uint8_t* values) {
  const std::string what = fmt::format("write {} rows from {} on to {}", count[0], row, path.string());
  std::vector<hsize_t> start(count.size(), 0);
  start[0] = static_cast<hsize_t>(row);
  const auto space = hdf5::own<hdf5::Dataspace>(H5Dget_space(dataset.get()), ExitCode::cannot_create, what);
  hdf5::check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr),
              ExitCode::cannot_create, what);
  const auto memory = hdf5::own<hdf5::Dataspace>(
      H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr), ExitCode::cannot_create, what);
  hdf5::check(H5Dwrite(dataset.get(), H5T_NATIVE_UINT8, memory.get(), space.get(), H5P_DEFAULT, values),
              ExitCode::cannot_create, what);
}

// "out/train/" and "out/train" are the same folder; the name is needed for the hidden one beside it.
fs::path without_slash(const fs::path& path) {
  const fs::path normal = path.lexically_normal();
  return normal.has_filename() ? normal : normal.parent_path();
}

}  // namespace

std::vector<std::int64_t> even_rows(std::int64_t samples, std::int64_t shards) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(shards), samples / shards);
  for (std::int64_t i = 0; i < samples % shards; ++i) ++rows[static_cast<std::size_t>(i)];
  return rows;
}

ShardWriter::ShardWriter(const fs::path& folder, std::vector<std::int64_t> rows,
                         std::vector<std::int64_t> sample_shape)
    : folder_(without_slash(folder)), rows_(std::move(rows)), shape_(std::move(sample_shape)) {
  std::error_code error;
  if (fs::exists(folder_, error) && (!fs::is_directory(folder_, error) || !fs::is_empty(folder_, error))) {
    throw Error(
        ExitCode::cannot_create,
        fmt::format("cannot write shards to {}: it exists and is not an empty folder; choose another name "
                    "or remove it",
                    folder_.string()));
  }
  for (const std::int64_t dim : shape_) elements_ *= dim;
  const fs::path parent = folder_.has_parent_path() ? folder_.parent_path() : fs::path(".");
  make_folders(parent);
  hidden_ = parent / fmt::format(".{}.tmp.{}", folder_.filename().string(), ::getpid());
  if (!fs::create_directory(hidden_, error)) {
    throw Error(ExitCode::cannot_create,
                fmt::format("cannot create folder {}: {}", hidden_.string(),
                            error ? error.message() : "it exists, left by a run that was killed; remove it"));
  }
  try {
    open_next();
  } catch (...) {
    fs::remove_all(hidden_, error);
    throw;
  }
}

ShardWriter::~ShardWriter() {
  std::error_code ignored;
  if (!hidden_.empty()) fs::remove_all(hidden_, ignored);
}

fs::path ShardWriter::file(std::size_t shard) const {
  return hidden_ / fmt::format("{:05}.h5", shard);
}

void ShardWriter::open_next() {
  const auto guard = hdf5::lock();
  const fs::path path = file(current_);
  x_ = {};
  y_ = {};
  open_.close_checked(ExitCode::cannot_create, "close a shard in " + hidden_.string());
  written_ = 0;
  if (current_ == rows_.size()) return;
  open_ = hdf5::create_serial(path);
  std::vector<hsize_t> extent = {static_cast<hsize_t>(rows_[current_])};
  y_ = create_dataset(open_, path, "y", extent);
  extent.insert(extent.end(), shape_.begin(), shape_.end());
  x_ = create_dataset(open_, path, "x", extent);
}

void ShardWriter::append(std::span<const std::uint8_t> samples, std::span<const std::uint8_t> labels) {
  const auto guard = hdf5::lock();
  while (!labels.empty() && current_ < rows_.size()) {
    const auto rows =
        std::min<std::int64_t>(static_cast<std::int64_t>(labels.size()), rows_[current_] - written_);
    if (rows > 0) {
      std::vector<hsize_t> count = {static_cast<hsize_t>(rows)};
      write_rows(y_, file(current_), count, written_, labels.data());
      count.insert(count.end(), shape_.begin(), shape_.end());
      write_rows(x_, file(current_), count, written_, samples.data());
      labels = labels.subspan(static_cast<std::size_t>(rows));
      samples = samples.subspan(static_cast<std::size_t>(rows * elements_));
      written_ += rows;
    }
    if (written_ == rows_[current_]) {
      ++current_;
      open_next();
    }
  }
  if (!labels.empty()) throw Error(ExitCode::internal, "more samples than the shards have rows");
}

void ShardWriter::publish(const Normalisation& normalisation, std::int64_t classes) {
  const auto guard = hdf5::lock();
  for (; current_ < rows_.size(); open_next()) {
    if (written_ < rows_[current_])
      throw Error(ExitCode::internal, "fewer samples than the shards have rows");
    ++current_;  // an empty shard at the end
  }
  for (std::size_t shard = 0; shard < rows_.size(); ++shard) {
    hdf5::File opened = hdf5::reopen_serial(file(shard));
    hdf5::write_attribute(opened.get(), "lockstep_format", std::int64_t{kFormat});
    hdf5::write_attribute(opened.get(), "classes", classes);
    hdf5::write_attribute(opened.get(), "scale", normalisation.scale);
    hdf5::write_attribute(opened.get(), "mean", std::span<const double>(normalisation.mean));
    hdf5::write_attribute(opened.get(), "std", std::span<const double>(normalisation.std));
    opened.close_checked(ExitCode::cannot_create, "close " + file(shard).string());
    sync_path(file(shard));
  }
  sync_path(hidden_);
  rename_durably(hidden_, folder_);
  hidden_.clear();
}

}  // namespace lockstep::data
