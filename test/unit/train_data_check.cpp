#include "train/data_check.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>

#include "core/files.h"
#include "data_fixture.h"
#include "train/checked_files.h"

using namespace lockstep;
using namespace lockstep::train;
using data::ContentDepth;
using data::Dataset;
using test::ShardSpec;
using test::TemporaryFolder;

TEST_CASE("what was checked is known again until a file changes", "[train]") {
  const TemporaryFolder folder;
  test::write_shards(folder / "data", {10, 20});
  const auto note = folder / "run/checked/training";
  const auto known = [&](ContentDepth depth) {
    return already_checked(note, files_text(Dataset::open(folder / "data")), depth);
  };
  CHECK_FALSE(known(ContentDepth::y));
  remember_checked(note, files_text(Dataset::open(folder / "data")), ContentDepth::y);
  CHECK(known(ContentDepth::y));
  CHECK_FALSE(known(ContentDepth::x_and_y));
  remember_checked(note, files_text(Dataset::open(folder / "data")), ContentDepth::x_and_y);
  CHECK(known(ContentDepth::y));
  CHECK(known(ContentDepth::x_and_y));

  const auto shard = folder / "data/01.h5";
  SECTION("touched") {
    std::filesystem::last_write_time(shard,
                                     std::filesystem::last_write_time(shard) + std::chrono::microseconds(1));
  }
  SECTION("longer") {
    const auto time = std::filesystem::last_write_time(shard);
    std::ofstream(shard, std::ios::app) << "x";
    std::filesystem::last_write_time(shard, time);
  }
  SECTION("one more") {
    test::write_shards(folder / "data/more", {5});
    std::filesystem::rename(folder / "data/more/00.h5", folder / "data/02.h5");
  }
  SECTION("the note is torn") {
    const std::string text = *read_text(note);
    std::ofstream(note) << text.substr(0, text.size() - 3);
  }
  CHECK_FALSE(known(ContentDepth::y));
}

TEST_CASE("a loss and changes of images that do not fit the data are refused", "[train]") {
  const TemporaryFolder folder;
  ShardSpec spec;
  Config config;
  config.train.loss = "cross_entropy";
  const auto refusal = [&] {
    return test::error_of([&] { check_fits(config, Dataset::open(folder.path())); });
  };
  SECTION("numbers to predict and cross-entropy") {
    spec.attributes = {};
    spec.y_type = H5T_IEEE_F32LE;
    spec.target_shape = {3};
    test::write_shards(folder.path(), {10}, spec);
    CHECK(refusal() == "78: train.loss = cross_entropy needs class numbers, but dataset y in " +
                           folder.path().string() +
                           " holds float32 (width 3): set train.loss = mse, or store y as uint8 or int64");
    config.train.loss = "mse";
    CHECK(refusal() == "no error");
  }
  SECTION("classes and mean squared error") {
    test::write_shards(folder.path(), {10}, spec);
    CHECK(refusal() == "no error");
    config.train.loss = "mse";
    CHECK(refusal() ==
          "78: train.loss = mse needs numbers to predict, but dataset y in " + folder.path().string() +
              " holds class numbers (uint8): set train.loss = cross_entropy, or store y as float32");
  }
  SECTION("one class") {
    spec.attributes["classes"] = 1;
    test::write_shards(folder.path(), {10}, spec);
    CHECK_THAT(refusal(), Catch::StartsWith("78: the data in " + folder.path().string() +
                                            " have 1 class: a classifier needs at least 2 classes"));
  }
  SECTION("crops of what is no image") {
    spec.sample_shape = {6};
    test::write_shards(folder.path(), {10}, spec);
    config.data.flip = true;
    CHECK_THAT(refusal(), Catch::Contains("data.crop_padding and data.flip are for images"));
  }
}
