#include "data/augment.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <set>

#include "comm/tree.h"
#include "data/loader.h"
#include "data_fixture.h"

using namespace lockstep;
using namespace lockstep::data;

namespace {

// A 3 x 4 image with the stored numbers 1 to 12; 0.5 apart from the zero of the padding after (v * 2 - 1)
// / 4.
std::vector<float> cut_of(const Cut& cut) {
  std::vector<std::uint8_t> image(12);
  for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<std::uint8_t>(i + 1);
  std::vector<float> out(12);
  to_floats(ElementType::u8, std::as_bytes(std::span(image)).data(), {2, {1}, {4}}, {1, 3, 4}, cut, out);
  for (float& value : out) value = (value * 4 + 1) / 2;  // back to stored numbers
  return out;
}

}  // namespace

TEST_CASE("a cut-out has exactly the stored pixels, and zeros beyond the image", "[data]") {
  CHECK(cut_of({}) == std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  CHECK(cut_of({1, 0, false}) == std::vector<float>{5, 6, 7, 8, 9, 10, 11, 12, 0, 0, 0, 0});
  CHECK(cut_of({-1, 0, false}) == std::vector<float>{0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(cut_of({0, 1, false}) == std::vector<float>{2, 3, 4, 0, 6, 7, 8, 0, 10, 11, 12, 0});
  CHECK(cut_of({0, -3, false}) == std::vector<float>{0, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0, 9});
  CHECK(cut_of({0, 0, true}) == std::vector<float>{4, 3, 2, 1, 8, 7, 6, 5, 12, 11, 10, 9});
  // Cut first, mirrored then.
  CHECK(cut_of({2, 1, true}) == std::vector<float>{0, 12, 11, 10, 0, 0, 0, 0, 0, 0, 0, 0});
  CHECK(cut_of({-2, -2, true}) == std::vector<float>{0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0});
}

TEST_CASE("the padding is zero before normalisation, which each channel has of its own", "[data]") {
  const std::vector<float> image = {1, 2, 3, 4, 10, 20, 30, 40};
  std::vector<float> out(8);
  to_floats(ElementType::f32, std::as_bytes(std::span(image)).data(), {1, {1, 10}, {1, 10}}, {2, 2, 2},
            {1, 1, false}, out);
  CHECK(out == std::vector<float>{3, -1, -1, -1, 3, -1, -1, -1});
}

TEST_CASE("a cut without shift gives the bits of plain conversion", "[data]") {
  std::vector<std::uint8_t> image(3 * 5 * 7);
  for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<std::uint8_t>(i * 37);
  const Normalisation normal{1.0 / 255, {0.49, 0.48, 0.44}, {0.247, 0.243, 0.261}};
  std::vector<float> plain(image.size());
  std::vector<float> cut(image.size());
  const std::byte* stored = std::as_bytes(std::span(image)).data();
  to_floats(ElementType::u8, stored, normal, plain);
  to_floats(ElementType::u8, stored, normal, {3, 5, 7}, {}, cut);
  CHECK(std::memcmp(plain.data(), cut.data(), plain.size() * sizeof(float)) == 0);
}

TEST_CASE("cuts are a function of seed, epoch and sample", "[data]") {
  const AugmentOptions options{4, true};
  const Augmenter augmenter(options, 7, {1, 28, 28});
  const auto key = [](const Cut& cut) { return std::tuple(cut.top, cut.left, cut.mirrored); };
  // These values are part of what a run is: they never change.
  CHECK(key(augmenter.cut(0, 0)) == std::tuple(std::int64_t{3}, std::int64_t{2}, false));
  CHECK(key(augmenter.cut(3, 59999)) == std::tuple(std::int64_t{2}, std::int64_t{0}, false));

  std::map<std::int64_t, int> tops;
  std::map<std::int64_t, int> lefts;
  int mirrored = 0;
  int other_epoch = 0;
  int other_seed = 0;
  const Augmenter reseeded(options, 8, {28, 28});
  for (std::int64_t id = 0; id < 9000; ++id) {
    const Cut cut = augmenter.cut(2, id);
    ++tops[cut.top];
    ++lefts[cut.left];
    mirrored += cut.mirrored;
    other_epoch += key(augmenter.cut(3, id)) != key(cut);
    other_seed += key(reseeded.cut(2, id)) != key(cut);
  }
  REQUIRE(tops.size() == 9);
  REQUIRE(lefts.size() == 9);
  CHECK(tops.begin()->first == -4);
  CHECK(lefts.rbegin()->first == 4);
  // 1000 expected, standard deviation 30.
  for (const auto& [top, count] : tops) CHECK(std::abs(count - 1000) < 150);
  for (const auto& [left, count] : lefts) CHECK(std::abs(count - 1000) < 150);
  CHECK(std::abs(mirrored - 4500) < 240);
  CHECK(other_epoch > 8800);
  CHECK(other_seed > 8800);
}

TEST_CASE("crops are the same with and without mirroring", "[data]") {
  const Augmenter both({2, true}, 1, {8, 8});
  const Augmenter crop({2, false}, 1, {8, 8});
  for (std::int64_t id = 0; id < 100; ++id) {
    CHECK(both.cut(0, id).top == crop.cut(0, id).top);
    CHECK(both.cut(0, id).left == crop.cut(0, id).left);
    CHECK_FALSE(crop.cut(0, id).mirrored);
  }
}

TEST_CASE("what cannot be augmented is refused", "[data]") {
  const auto refusal = [](const AugmentOptions& options, const std::vector<std::int64_t>& shape) {
    return test::error_of([&] { make_augmenter(options, 1, shape); });
  };
  CHECK(refusal({0, false}, {784}) == "no error");
  CHECK(
      refusal({4, false}, {784}) ==
      "78: data.crop_padding and data.flip are for images, [height, width] or [channels, height, width]; the "
      "samples are 784: leave both out");
  CHECK_THAT(refusal({0, true}, {1, 2, 3, 4}), Catch::Contains("the samples are 1x2x3x4"));
  CHECK(refusal({5, false}, {3, 8, 5}) ==
        "78: data.crop_padding = 5 could cut beside the images of 8 x 5; wanted 0 to 4");
}

TEST_CASE("a sample looks the same in an epoch whatever the batches and ranks", "[data]") {
  const test::TemporaryFolder folder;
  test::ShardSpec spec;
  spec.sample_shape = {1, 6, 5};
  test::write_shards(folder.path(), {70, 30}, spec);
  const Dataset dataset = Dataset::open(folder.path());
  const AugmentOptions options{2, true};
  using Seen = std::map<std::pair<std::int64_t, std::int64_t>, std::vector<float>>;  // by epoch and id
  const auto two_epochs = [&](std::int64_t global_batch, std::int64_t micro_batch, int ranks) {
    Seen seen;
    const Sampler sampler(dataset, {5, global_batch, micro_batch, 64});
    for (int rank = 0; rank < ranks; ++rank) {
      const LaneRange lanes = comm::lanes_of(rank, ranks, static_cast<int>(sampler.lanes()));
      Loader loader(dataset, sampler, lanes, {0, 0}, 4, 2 * sampler.steps_per_epoch(), options);
      while (const auto batch = loader.next(std::chrono::seconds(60))) {
        for (std::size_t i = 0; i < batch->ids.size(); ++i) {
          const auto* x = batch->x.data() + i * 30;
          seen[{batch->epoch, batch->ids[i]}] = std::vector<float>(x, x + 30);
        }
      }
    }
    return seen;
  };
  const Seen one = two_epochs(20, 5, 1);
  REQUIRE(one.size() == 200);
  CHECK(two_epochs(20, 5, 3) == one);
  CHECK(two_epochs(48, 16, 2) == one);
  int changed = 0;
  for (std::int64_t id = 0; id < 100; ++id) changed += one.at({0, id}) != one.at({1, id});
  CHECK(changed > 90);
}
