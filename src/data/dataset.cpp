#include "data/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "core/error.h"
#include "core/hash.h"
#include "data/row_reader.h"

namespace lockstep::data {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kBlockRows = 64;           // small enough to mix well, large enough to read fast
constexpr std::int64_t kMostBlocks = 1 << 20;     // an epoch's order stays below 16 MiB
constexpr std::int64_t kFingerprintSamples = 16;  // cheap on any file system

[[noreturn]] void differ(const Shard& shard, const Shard& first, std::string_view what,
                         const std::string& seen, const std::string& wanted) {
  throw Error(
      ExitCode::bad_data,
      fmt::format("{} has {} {}, but {} has {}; all shards of a folder must agree: move the odd one out "
                  "or import again",
                  shard.file.string(), what, seen, first.file.string(), wanted));
}

std::string targets_text(const Shard& shard) {
  if (shard.target_width() == 0) return std::string("class numbers");
  return fmt::format("{} {} to predict", shard.target_width(),
                     shard.target_width() == 1 ? "number" : "numbers");
}

// An empty shard must agree too: its layout says what it was meant for.
void check_alike(const Shard& shard, const Shard& first) {
  if (shard.x.shape != first.x.shape) {
    differ(shard, first, "samples of shape", shape_text(shard.x.shape), shape_text(first.x.shape));
  }
  if (shard.x.type != first.x.type) {
    differ(shard, first, "samples of type", std::string(name_of(shard.x.type)),
           std::string(name_of(first.x.type)));
  }
  if (shard.normalisation != first.normalisation) {
    differ(shard, first, "normalisation", fmt::format("({})", text_of(shard.normalisation)),
           fmt::format("({})", text_of(first.normalisation)));
  }
  if (shard.target_width() != first.target_width()) {
    differ(shard, first, "a dataset y of", targets_text(shard), targets_text(first));
  }
}

std::int64_t agreed_classes(std::span<const Shard> shards) {
  const Shard* says = nullptr;
  for (const Shard& shard : shards) {
    if (!shard.classes) continue;
    if (says != nullptr && shard.classes != says->classes) {
      differ(shard, *says, "classes", fmt::format("{}", *shard.classes), fmt::format("{}", *says->classes));
    }
    says = &shard;
  }
  return says == nullptr ? 0 : *says->classes;
}

// Where no shard says how many classes there are, the labels do.
std::int64_t scan_classes(const Dataset& dataset) {
  std::int64_t largest = -1;
  RowReader(dataset).for_each_label([&](std::int64_t label) { largest = std::max(largest, label); });
  if (largest < 0) {
    throw Error(ExitCode::bad_data, fmt::format("no label in dataset {} is a class number, 0 to 2147483646",
                                                dataset.folder().string()));
  }
  if (largest >= std::numeric_limits<std::int32_t>::max()) {
    throw Error(ExitCode::bad_data,
                fmt::format("the largest label in dataset {} is {}, wanted class numbers from "
                            "0 to 2147483646",
                            dataset.folder().string(), largest));
  }
  return largest + 1;
}

}  // namespace

std::vector<fs::path> shard_files(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    throw Error(ExitCode::missing_input,
                fmt::format("cannot open dataset {}: no such folder; make one with `lockstep data import`",
                            folder.string()));
  }
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.ends_with(".h5") && !name.starts_with(".")) files.push_back(entry->path());
  }
  if (error) {
    throw Error(ExitCode::missing_input, fmt::format("cannot list {}: {}", folder.string(), error.message()));
  }
  if (files.empty()) {
    throw Error(
        ExitCode::missing_input,
        fmt::format("dataset {} has no *.h5 file; name the folder of one split, such as DATASET/train",
                    folder.string()));
  }
  std::sort(files.begin(), files.end());
  return files;
}

Dataset Dataset::open(const fs::path& folder) {
  std::vector<Shard> shards;
  for (const fs::path& file : shard_files(folder)) shards.push_back(read_shard(file));
  return combine(folder, std::move(shards));
}

Dataset Dataset::combine(const fs::path& folder, std::vector<Shard> shards) {
  return Dataset(folder, std::move(shards));
}

Dataset::Dataset(fs::path folder, std::vector<Shard> shards)
    : folder_(std::move(folder)), shards_(std::move(shards)) {
  for (Shard& shard : shards_) {
    check_alike(shard, shards_.front());
    take_names(shard);
    shard.first_id = size_;
    size_ += shard.rows();
  }
  if (size_ == 0) {
    throw Error(ExitCode::bad_data, fmt::format("dataset {} has no sample: its {} shards are empty",
                                                folder_.string(), shards_.size()));
  }
  classes_ = agreed_classes(shards_);
  if (classes_ == 0 && target_width() == 0) classes_ = scan_classes(*this);
  fingerprint_ = compute_fingerprint();
}

// Held once, not by each of thousands of shards.
void Dataset::take_names(Shard& shard) {
  const Names names = std::exchange(shard.names, {});
  if (names.empty()) return;
  if (named_in_.empty()) {
    names_ = names;
    named_in_ = shard.file;
  } else if (const auto differs = difference(names, names_, named_in_.string())) {
    throw Error(ExitCode::bad_data,
                fmt::format("{} has {}; all shards of a folder must agree: move the odd one out or import "
                            "again",
                            shard.file.string(), *differs));
  }
}

void check_same_names(const Dataset& dataset, const Dataset& wanted) {
  const auto differs = difference(dataset.names(), wanted.names(), wanted.named_in().string());
  if (!differs) return;
  throw Error(ExitCode::bad_data,
              fmt::format("{} has {}: import this split again, with the same columns and classes in the same "
                          "order",
                          dataset.named_in().string(), *differs));
}

std::int64_t Dataset::bytes() const {
  std::int64_t sum = 0;
  for (const Shard& shard : shards_) sum += shard.rows() * (shard.x.row_bytes() + shard.y.row_bytes());
  return sum;
}

std::uint64_t Dataset::compute_fingerprint() const {
  Hasher hasher;
  const auto add = [&hasher](const auto& value) { hasher.update(std::as_bytes(std::span(&value, 1))); };
  for (const Shard& shard : shards_) {
    add(shard.rows());
    add(block_rows(shard));
  }
  for (const std::int64_t dim : sample_shape()) add(dim);
  add(static_cast<std::int64_t>(element_type()));
  add(classes_);
  if (target_width() > 0) add(target_width());
  add(normalisation().scale);
  if (normalisation().groups() > 1) add(normalisation().mean.size());
  for (const double mean : normalisation().mean) add(mean);
  for (const double std : normalisation().std) add(std);
  RowReader reader(*this);
  RawRows row;
  reader.resize(row, 1);
  const std::int64_t count = std::min(size_, kFingerprintSamples);
  for (std::int64_t i = 0; i < count; ++i) {
    reader.read(i * size_ / count, 1, row, 0);
    hasher.update(row.x);
    for (const std::int64_t label : row.y) add(label);
    for (const float target : row.targets) add(target);
  }
  return hasher.digest();
}

const Shard& Dataset::shard_of(std::int64_t id) const {
  const auto after =
      std::upper_bound(shards_.begin(), shards_.end(), id,
                       [](std::int64_t value, const Shard& shard) { return value < shard.first_id; });
  return *std::prev(after);  // the last shard that begins at or before id: an empty one before it ends there
}

std::int64_t Dataset::block_rows(const Shard& shard) const {
  std::int64_t rows = kBlockRows;
  while (size_ / rows > kMostBlocks) rows *= 2;
  const std::int64_t chunk = shard.x.chunk_rows;
  return chunk == 0 ? rows : chunk * std::max<std::int64_t>(1, (rows + chunk / 2) / chunk);
}

std::vector<Block> Dataset::blocks() const {
  std::vector<Block> blocks;
  for (const Shard& shard : shards_) {
    const std::int64_t step = block_rows(shard);
    for (std::int64_t row = 0; row < shard.rows(); row += step) {
      blocks.push_back({shard.first_id + row, std::min(step, shard.rows() - row)});
    }
  }
  return blocks;
}

}  // namespace lockstep::data
