#include "data/shard_writer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/files.h"
#include "hdf5/serial.h"
#include "hdf5/structure.h"

namespace lockstep::data {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kFormat = 1;

hdf5::Dataset create_dataset(const hdf5::File& file, const fs::path& path, const std::string& name,
                             hid_t type, const std::vector<hsize_t>& extent) {
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
  return hdf5::own<hdf5::Dataset>(
      H5Dcreate2(file.get(), name.c_str(), type, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
      ExitCode::cannot_create, what);
}

void write_rows(const hdf5::Dataset& dataset, const fs::path& path, ElementType type,
                std::vector<hsize_t> count, std::int64_t row, const std::byte* values) {
  const std::string what = fmt::format("write {} rows from {} on to {}", count[0], row, path.string());
  std::vector<hsize_t> start(count.size(), 0);
  start[0] = static_cast<hsize_t>(row);
  const auto space = hdf5::own<hdf5::Dataspace>(H5Dget_space(dataset.get()), ExitCode::cannot_create, what);
  hdf5::check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr),
              ExitCode::cannot_create, what);
  const auto memory = hdf5::own<hdf5::Dataspace>(
      H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr), ExitCode::cannot_create, what);
  hdf5::check(H5Dwrite(dataset.get(), hdf5_type(type), memory.get(), space.get(), H5P_DEFAULT, values),
              ExitCode::cannot_create, what);
}

// Texts of one length, filled up with NUL: the same names give the same bytes.
void write_texts(const hdf5::File& file, const fs::path& path, const std::string& name,
                 const std::vector<std::string>& texts) {
  if (texts.empty()) return;
  std::size_t length = 1;
  for (const std::string& text : texts) length = std::max(length, text.size());
  std::string bytes;
  for (const std::string& text : texts) bytes.append(text).append(length - text.size(), '\0');
  const hdf5::Datatype type = hdf5::text_type(length);
  const auto dataset = create_dataset(file, path, name, type.get(), {texts.size()});
  hdf5::check(H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()),
              ExitCode::cannot_create, fmt::format("write dataset {} of {}", name, path.string()));
}

std::vector<hsize_t> x_extent(std::int64_t rows, const RowForm& form) {
  std::vector<hsize_t> extent = {static_cast<hsize_t>(rows)};
  extent.insert(extent.end(), form.sample_shape.begin(), form.sample_shape.end());
  return extent;
}

// One number to predict is stored as [rows], as class numbers are.
std::vector<hsize_t> y_extent(std::int64_t rows, const RowForm& form) {
  std::vector<hsize_t> extent = {static_cast<hsize_t>(rows)};
  if (form.target_width > 1) extent.push_back(static_cast<hsize_t>(form.target_width));
  return extent;
}

// "out/train/" and "out/train" are the same folder; the name is needed for the hidden one beside it.
fs::path without_slash(const fs::path& path) {
  const fs::path normal = path.lexically_normal();
  return normal.has_filename() ? normal : normal.parent_path();
}

}  // namespace

std::int64_t RowForm::sample_elements() const {
  return std::accumulate(sample_shape.begin(), sample_shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::int64_t RowForm::label_bytes() const {
  return std::max<std::int64_t>(target_width, 1) * static_cast<std::int64_t>(size_of(y));
}

std::vector<std::int64_t> even_rows(std::int64_t samples, std::int64_t shards) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(shards), samples / shards);
  for (std::int64_t i = 0; i < samples % shards; ++i) ++rows[static_cast<std::size_t>(i)];
  return rows;
}

ShardWriter::ShardWriter(const fs::path& folder, std::vector<std::int64_t> rows, RowForm form)
    : folder_(without_slash(folder)), rows_(std::move(rows)), form_(std::move(form)) {
  std::error_code error;
  if (fs::exists(folder_, error) && (!fs::is_directory(folder_, error) || !fs::is_empty(folder_, error))) {
    throw Error(
        ExitCode::cannot_create,
        fmt::format("cannot write shards to {}: it exists and is not an empty folder; choose another name "
                    "or remove it",
                    folder_.string()));
  }
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
  y_ = create_dataset(open_, path, "y", hdf5_type(form_.y), y_extent(rows_[current_], form_));
  x_ = create_dataset(open_, path, "x", hdf5_type(form_.x), x_extent(rows_[current_], form_));
}

void ShardWriter::append(std::span<const std::byte> samples, std::span<const std::byte> labels) {
  const auto guard = hdf5::lock();
  auto left = static_cast<std::int64_t>(labels.size()) / form_.label_bytes();
  while (left > 0 && current_ < rows_.size()) {
    const std::int64_t rows = std::min(left, rows_[current_] - written_);
    if (rows > 0) {
      const fs::path path = file(current_);
      write_rows(y_, path, form_.y, y_extent(rows, form_), written_, labels.data());
      write_rows(x_, path, form_.x, x_extent(rows, form_), written_, samples.data());
      labels = labels.subspan(static_cast<std::size_t>(rows * form_.label_bytes()));
      samples = samples.subspan(static_cast<std::size_t>(rows * form_.sample_bytes()));
      written_ += rows;
      left -= rows;
    }
    if (written_ == rows_[current_]) {
      ++current_;
      open_next();
    }
  }
  if (left > 0) throw Error(ExitCode::internal, "more samples than the shards have rows");
}

void ShardWriter::add_text(const std::string& name, const std::string& text) {
  write_atomically(hidden_ / name, text);
}

void ShardWriter::publish(const Normalisation& normalisation, std::optional<std::int64_t> classes) {
  const auto guard = hdf5::lock();
  for (; current_ < rows_.size(); open_next()) {
    if (written_ < rows_[current_])
      throw Error(ExitCode::internal, "fewer samples than the shards have rows");
    ++current_;  // an empty shard at the end
  }
  for (std::size_t shard = 0; shard < rows_.size(); ++shard) {
    hdf5::File opened = hdf5::reopen_serial(file(shard));
    hdf5::write_attribute(opened.get(), "lockstep_format", std::int64_t{kFormat});
    if (classes) hdf5::write_attribute(opened.get(), "classes", *classes);
    hdf5::write_attribute(opened.get(), "scale", normalisation.scale);
    hdf5::write_attribute(opened.get(), "mean", std::span<const double>(normalisation.mean));
    hdf5::write_attribute(opened.get(), "std", std::span<const double>(normalisation.std));
    write_texts(opened, file(shard), feature_names, form_.names.features);
    write_texts(opened, file(shard), target_names, form_.names.targets);
    write_texts(opened, file(shard), class_names, form_.names.classes);
    opened.close_checked(ExitCode::cannot_create, "close " + file(shard).string());
    sync_path(file(shard));
  }
  sync_path(hidden_);
  rename_durably(hidden_, folder_);
  hidden_.clear();
}

}  // namespace lockstep::data
