#include "data/import_idx.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/error.h"
#include "data/idx_file.h"
#include "data/shard_writer.h"

namespace lockstep::data {

namespace {

constexpr std::int64_t kRowsPerPiece = 4096;

void check_pair(const IdxImport& job, const IdxFile& images, const IdxFile& labels) {
  if (images.item_shape().empty() || images.item_shape().size() > 3) {
    throw Error(
        ExitCode::bad_data,
        fmt::format("{} has rank {}, wanted images of rank 2 to 4 (number, height, width); is it the file of "
                    "labels?",
                    images.path().string(), images.item_shape().size() + 1));
  }
  if (!labels.item_shape().empty()) {
    throw Error(ExitCode::bad_data,
                fmt::format("{} has rank {}, wanted labels of rank 1; is it the file of images?",
                            labels.path().string(), labels.item_shape().size() + 1));
  }
  if (images.items() != labels.items()) {
    throw Error(ExitCode::bad_data,
                fmt::format("{} has {} images, but {} has {} labels; do they belong together?",
                            images.path().string(), images.items(), labels.path().string(), labels.items()));
  }
  if (images.items() == 0) {
    throw Error(ExitCode::bad_data, fmt::format("{} has no image", images.path().string()));
  }
  if (job.shards < 1 || job.shards > images.items()) {
    throw Error(ExitCode::usage, fmt::format("{} shards for {} samples: wanted 1 to {}", job.shards,
                                             images.items(), images.items()));
  }
}

void check_labels(const IdxImport& job, std::span<const std::uint8_t> labels, std::int64_t first_row) {
  if (!job.classes) return;
  const auto bad = std::find_if(labels.begin(), labels.end(),
                                [&](std::uint8_t label) { return std::int64_t{label} >= *job.classes; });
  if (bad == labels.end()) return;
  throw Error(ExitCode::bad_data,
              fmt::format("{} has label {} in row {}, wanted 0 to {}: correct --classes", job.labels.string(),
                          *bad, first_row + (bad - labels.begin()), *job.classes - 1));
}

// Sums of whole numbers: exact, whatever the order.
struct Moments {
  std::uint64_t count = 0;
  std::uint64_t sum = 0;
  std::uint64_t squares = 0;

  void add(std::span<const std::uint8_t> values) {
    count += values.size();
    for (const std::uint8_t value : values) {
      sum += value;
      squares += std::uint64_t{value} * value;
    }
  }
  double mean() const { return static_cast<double>(sum) / static_cast<double>(count); }
  double std() const {
    const double variance = static_cast<double>(squares) / static_cast<double>(count) - mean() * mean();
    return variance > 0 ? std::sqrt(variance) : 0;
  }
};

}  // namespace

IdxImported import_idx(const IdxImport& job) {
  IdxFile images(job.images);
  IdxFile labels(job.labels);
  check_pair(job, images, labels);

  std::vector<std::int64_t> shape(images.item_shape().begin(), images.item_shape().end());
  if (shape.size() == 2) shape.insert(shape.begin(), 1);
  ShardWriter writer(job.out, even_rows(images.items(), job.shards), shape);

  Moments moments;
  std::uint8_t largest = 0;
  std::vector<std::uint8_t> x;
  std::vector<std::uint8_t> y;
  for (std::int64_t row = 0; row < images.items(); row += kRowsPerPiece) {
    const std::int64_t rows = std::min(kRowsPerPiece, images.items() - row);
    x.resize(static_cast<std::size_t>(rows * images.item_bytes()));
    y.resize(static_cast<std::size_t>(rows));
    labels.read(y);
    check_labels(job, y, row);
    images.read(x);
    moments.add(x);
    largest = std::max(largest, *std::max_element(y.begin(), y.end()));
    writer.append(x, y);
  }
  images.expect_end();
  labels.expect_end();

  IdxImported result;
  result.samples = images.items();
  result.classes = job.classes.value_or(std::int64_t{largest} + 1);
  result.mean = job.mean.value_or(moments.mean() * job.scale);
  // Images that are all of one value have no spread to divide by.
  const double measured = moments.std() * job.scale;
  result.std = job.std.value_or(measured > 0 ? measured : 1);
  writer.publish({job.scale, {result.mean}, {result.std}}, result.classes);
  return result;
}

}  // namespace lockstep::data
