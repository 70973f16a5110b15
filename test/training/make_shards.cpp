// make_shards DIR ROWS...: one shard per number, of 28 x 28 images that a small model can learn. For cases
// that no importer makes, such as an empty shard.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <vector>

#include "data/shard_writer.h"

int main(int argc, char** argv) {
  constexpr std::int64_t side = 28;
  constexpr std::int64_t classes = 10;
  try {
    if (argc < 3) {
      std::fputs("usage: make_shards DIR ROWS...\n", stderr);
      return 64;
    }
    std::vector<std::int64_t> rows;
    for (int i = 2; i < argc; ++i) rows.push_back(std::atoll(argv[i]));
    lockstep::data::ShardWriter writer(argv[1], rows, {1, side, side});
    std::uint8_t id = 0;
    for (const std::int64_t count : rows) {
      for (std::int64_t row = 0; row < count; ++row, ++id) {
        const std::uint8_t label = id % classes;
        std::vector<std::uint8_t> image(side * side, id);
        for (std::int64_t x = 0; x < side; ++x) image[static_cast<std::size_t>(label * 2 * side + x)] = 255;
        writer.append(image, std::vector<std::uint8_t>{label});
      }
    }
    writer.publish({1.0 / 255, {0.5}, {0.5}}, classes);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_shards: %s\n", error.what());
    return 70;
  }
}
