#include "data/import_idx.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "core/error.h"
#include "data/convert.h"
#include "data/idx_file.h"
#include "data/shard_import.h"

namespace lockstep::data {

namespace {

constexpr std::int64_t kRowsPerPiece = 4096;

void check_pair(const IdxFile& images, const IdxFile& labels) {
  if (images.row_shape().empty() || images.row_shape().size() > 3) {
    throw Error(
        ExitCode::bad_data,
        fmt::format("{} has rank {}, wanted images of rank 2 to 4 (number, height, width); is it the file of "
                    "labels?",
                    images.place(), images.row_shape().size() + 1));
  }
  if (!labels.row_shape().empty()) {
    throw Error(ExitCode::bad_data,
                fmt::format("{} has rank {}, wanted labels of rank 1; is it the file of images?",
                            labels.place(), labels.row_shape().size() + 1));
  }
  if (images.rows() != labels.rows()) {
    throw Error(ExitCode::bad_data,
                fmt::format("{} has {} images, but {} has {} labels; do they belong together?",
                            images.place(), images.rows(), labels.place(), labels.rows()));
  }
  if (images.rows() == 0) throw Error(ExitCode::bad_data, fmt::format("{} has no image", images.place()));
}

Imported run(const ImportArguments& arguments, const ImportTarget& target) {
  return import_idx(arguments.text("images"), arguments.text("labels"), target);
}

constexpr std::array<ImportOption, 2> kOptions = {{
    {"images", "FILE", "images, IDX of unsigned bytes, plain or gzip'd", ImportOption::Kind::required},
    {"labels", "FILE", "labels, IDX of unsigned bytes, plain or gzip'd", ImportOption::Kind::required},
}};

}  // namespace

extern const Importer idx_importer;
constexpr Importer idx_importer = {
    "idx",
    "images and labels of the MNIST family",
    "--images FILE --labels FILE",
    "Turns a pair of IDX files (MNIST, Fashion-MNIST, KMNIST, EMNIST) into HDF5 shards.",
    kOptions,
    run,
};

Imported import_idx(const std::filesystem::path& image_file, const std::filesystem::path& label_file,
                    const ImportTarget& target) {
  IdxFile images(open_input(image_file));
  IdxFile labels(open_input(label_file));
  check_pair(images, labels);

  RowForm form{images.row_shape(), ElementType::u8, ElementType::u8, 0};
  if (form.sample_shape.size() == 2) form.sample_shape.insert(form.sample_shape.begin(), 1);
  ShardImport shards(target, images.rows(), form);
  std::vector<std::byte> x;
  std::vector<std::byte> y;
  std::vector<std::int64_t> numbers;
  for (std::int64_t row = 0; row < images.rows(); row += kRowsPerPiece) {
    const std::int64_t rows = std::min(kRowsPerPiece, images.rows() - row);
    x.resize(static_cast<std::size_t>(rows * images.row_bytes()));
    y.resize(static_cast<std::size_t>(rows));
    numbers.resize(y.size());
    labels.read(y);
    to_labels(ElementType::u8, y.data(), numbers);
    images.read(x);
    shards.append({x, numbers, {}, images.place(), labels.place(), row});
  }
  images.finish();
  labels.finish();
  return shards.finish();
}

}  // namespace lockstep::data
