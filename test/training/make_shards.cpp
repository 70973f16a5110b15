// make_shards [--float] [--nan ROW] [--label ROW] DIR ROWS...: one shard per number, of 28 x 28 images that a
// small model can learn. For cases that no importer makes: an empty shard, images as float32, a number that
// is none in the image of a row, a label (200) outside the classes. ROW counts through all shards.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/shard_writer.h"

namespace {

using namespace lockstep;

constexpr std::int64_t side = 28;
constexpr std::int64_t classes = 10;

struct Wanted {
  bool as_float = false;
  std::int64_t nan_row = -1;
  std::int64_t label_row = -1;
  std::string folder;
  std::vector<std::int64_t> rows;
};

Wanted parse(int argc, char** argv) {
  Wanted wanted;
  int i = 1;
  for (; i < argc && argv[i][0] == '-'; ++i) {
    const std::string option = argv[i];
    if (option == "--float") wanted.as_float = true;
    if (option == "--nan" && i + 1 < argc) wanted.nan_row = std::atoll(argv[++i]);
    if (option == "--label" && i + 1 < argc) wanted.label_row = std::atoll(argv[++i]);
  }
  if (i < argc) wanted.folder = argv[i++];
  for (; i < argc; ++i) wanted.rows.push_back(std::atoll(argv[i]));
  return wanted;
}

// Images of float32 in place of those of uint8.
void widen(const data::Shard& shard, std::int64_t nan_row) {
  const auto guard = hdf5::lock();
  const hdf5::File file(H5Fopen(shard.file.c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
  const hsize_t extent[] = {static_cast<hsize_t>(shard.rows()), 1, side, side};
  const hdf5::Dataspace space(H5Screate_simple(4, extent, nullptr));
  std::vector<float> x(static_cast<std::size_t>(shard.rows() * side * side));
  {
    const hdf5::Dataset bytes(H5Dopen2(file.get(), "x", H5P_DEFAULT));
    H5Dread(bytes.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, x.data());
  }
  const std::int64_t row = nan_row - shard.first_id;
  if (row >= 0 && row < shard.rows()) {
    x[static_cast<std::size_t>(row * side * side + 7)] = std::numeric_limits<float>::quiet_NaN();
  }
  H5Ldelete(file.get(), "x", H5P_DEFAULT);
  const auto made = hdf5::own<hdf5::Dataset>(
      H5Dcreate2(file.get(), "x", H5T_IEEE_F32LE, space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
      ExitCode::cannot_create, "make x of float32");
  hdf5::check(H5Dwrite(made.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, x.data()),
              ExitCode::cannot_create, "write x of float32");
}

void make(const Wanted& wanted) {
  data::ShardWriter writer(wanted.folder, wanted.rows,
                           {{1, side, side}, data::ElementType::u8, data::ElementType::u8, 0});
  std::int64_t id = 0;
  for (const std::int64_t count : wanted.rows) {
    for (std::int64_t row = 0; row < count; ++row, ++id) {
      const auto shade = static_cast<std::uint8_t>(id);
      const auto label = static_cast<std::uint8_t>(shade % classes);
      std::vector<std::uint8_t> image(side * side, shade);
      for (std::int64_t x = 0; x < side; ++x) image[static_cast<std::size_t>(label * 2 * side + x)] = 255;
      const std::uint8_t written = id == wanted.label_row ? 200 : label;
      writer.append(std::as_bytes(std::span(image)), std::as_bytes(std::span(&written, 1)));
    }
  }
  writer.publish({1.0 / 255, {0.5}, {0.5}}, classes);
  if (!wanted.as_float) return;
  const data::Dataset dataset = data::Dataset::open(wanted.folder);
  for (const data::Shard& shard : dataset.shards()) widen(shard, wanted.nan_row);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Wanted wanted = parse(argc, argv);
    if (wanted.rows.empty()) {
      std::fputs("usage: make_shards [--float] [--nan ROW] [--label ROW] DIR ROWS...\n", stderr);
      return 64;
    }
    make(wanted);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_shards: %s\n", error.what());
    return 70;
  }
}
