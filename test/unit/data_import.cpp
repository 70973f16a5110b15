#include "data/import_idx.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "cli/data.h"
#include "data/dataset.h"
#include "data/eval_reader.h"
#include "data/verify.h"
#include "import_fixture.h"

using namespace lockstep;
using test::files_below;
using test::TemporaryFolder;
using test::write_bytes;
using test::write_gzip;

namespace {

using Bytes = std::string;

Bytes idx(std::uint8_t type, const std::vector<std::uint32_t>& extent, const Bytes& content) {
  Bytes bytes{0, 0, static_cast<char>(type), static_cast<char>(extent.size())};
  for (const std::uint32_t dim : extent) {
    for (const int shift : {24, 16, 8, 0}) bytes.push_back(static_cast<char>(dim >> shift));
  }
  return bytes + content;
}

constexpr std::uint32_t kImages = 103;

Bytes pixels(std::uint32_t images = kImages) {
  Bytes content;
  for (std::uint32_t id = 0; id < images; ++id) {
    for (std::int64_t i = 0; i < 12; ++i) content.push_back(static_cast<char>(test::stored_value(id, i)));
  }
  return content;
}

Bytes classes_of(std::uint32_t images = kImages) {
  Bytes content;
  for (std::uint32_t id = 0; id < images; ++id) content.push_back(static_cast<char>(id % 10));
  return content;
}

// A pair that is right, until a test spoils it.
struct Pair {
  explicit Pair(const TemporaryFolder& folder) : images(folder / "images.gz"), labels(folder / "labels.gz") {
    target.out = folder / "out/train";
    target.shards = 4;
    write_gzip(images, idx(8, {kImages, 3, 4}, pixels()));
    write_gzip(labels, idx(8, {kImages}, classes_of()));
  }
  data::Imported import() const { return data::import_idx(images, labels, target); }
  std::string error() const {
    return test::error_of([this] { import(); });
  }
  std::filesystem::path images;
  std::filesystem::path labels;
  data::ImportTarget target;
};

}  // namespace

TEST_CASE("IDX files become shards, whether compressed or not", "[data]") {
  const TemporaryFolder folder;
  Pair pair(folder);
  SECTION("gzip'd") {}
  SECTION("plain") {
    write_bytes(pair.images, idx(8, {kImages, 3, 4}, pixels()));
    write_bytes(pair.labels, idx(8, {kImages}, classes_of()));
  }
  SECTION("into an empty folder, named with a slash") {
    std::filesystem::create_directories(folder / "out/train");
    pair.target.out = folder / "out/train/";
  }
  const data::Imported result = pair.import();
  CHECK(result.samples == kImages);
  CHECK(result.classes == 10);
  const data::Dataset dataset = data::Dataset::open(folder / "out/train");
  CHECK(dataset.sample_shape() == std::vector<std::int64_t>{1, 3, 4});
  REQUIRE(dataset.shards().size() == 4);
  CHECK(dataset.shards()[0].rows() == 26);
  CHECK(dataset.shards()[3].rows() == 25);
  for (const data::Shard& shard : dataset.shards()) {
    CHECK(shard.x.file_offset.has_value());
    CHECK(shard.y.file_offset.has_value());
  }
  CHECK(data::verify(folder / "out/train").faults.empty());
  CHECK(files_below(folder / "out") == 4);

  // What a model sees has mean 0 and deviation 1, and is what the file held.
  data::EvalReader reader(dataset, kImages, {0});
  const auto batch = reader.next(std::chrono::seconds(60));
  REQUIRE(batch.has_value());
  double sum = 0;
  double squares = 0;
  for (std::size_t i = 0; i < batch->x.size(); ++i) {
    const auto stored =
        test::stored_value(static_cast<std::int64_t>(i) / 12, static_cast<std::int64_t>(i) % 12);
    CHECK(
        batch->x[i] ==
        Approx((static_cast<double>(stored) / 255 - result.mean.front()) / result.std.front()).margin(1e-6));
    sum += batch->x[i];
    squares += double{batch->x[i]} * batch->x[i];
  }
  const auto count = static_cast<double>(batch->x.size());
  CHECK(sum / count == Approx(0).margin(1e-5));
  CHECK(squares / count == Approx(1).epsilon(1e-5));
  for (std::size_t i = 0; i < batch->y.size(); ++i) CHECK(batch->y[i] == static_cast<std::int32_t>(i % 10));
}

TEST_CASE("the test split can take the training split's normalisation", "[data]") {
  const TemporaryFolder folder;
  Pair pair(folder);
  pair.import();
  const std::vector<std::string> args = {"import",
                                         "idx",
                                         "--images",
                                         pair.images.string(),
                                         "--labels",
                                         pair.labels.string(),
                                         "--out",
                                         (folder / "out/test").string(),
                                         "--normalise-from",
                                         (folder / "out/train").string()};
  CHECK(cli::data_command(args) == 0);
  CHECK(data::Dataset::open(folder / "out/test").normalisation() ==
        data::Dataset::open(folder / "out/train").normalisation());
}

TEST_CASE("images of one value have no spread to divide by", "[data]") {
  const TemporaryFolder folder;
  Pair pair(folder);
  write_gzip(pair.images, idx(8, {kImages, 3, 4}, Bytes(kImages * 12, 'a')));
  CHECK(pair.import().std == std::vector<double>{1});
}

TEST_CASE("a faulty IDX file is named, and no shard is left behind", "[data]") {
  const TemporaryFolder folder;
  Pair pair(folder);
  const std::string images = pair.images.string();
  const std::string labels = pair.labels.string();
  std::string wanted;
  SECTION("images missing") {
    std::filesystem::remove(pair.images);
    wanted = "66: cannot open " + images + ": No such file or directory";
  }
  SECTION("gzip cut off in its data") {
    write_gzip(pair.images, idx(8, {50000, 3, 4}, pixels(50000)));
    write_gzip(pair.labels, idx(8, {50000}, classes_of(50000)));
    std::filesystem::resize_file(pair.images, std::filesystem::file_size(pair.images) / 2);
    wanted = "65: cannot read " + images + ": unexpected end of file; get the file again";
  }
  SECTION("gzip cut off in its last bytes") {
    std::filesystem::resize_file(pair.images, std::filesystem::file_size(pair.images) - 3);
    wanted = "65: cannot read " + images + ": unexpected end of file; get the file again";
  }
  SECTION("gzip with a flipped byte") {
    std::fstream file(pair.images, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(pair.images)) - 6);
    file.put('\x55').put('\x55');  // in the checksum at its end
    wanted = "65: cannot read " + images + ": incorrect data check; get the file again";
  }
  SECTION("plain file cut off") {
    write_bytes(pair.images, idx(8, {kImages, 3, 4}, pixels(kImages - 1)));
    wanted = "65: " + images + " ends after 1240 bytes, 12 more are missing";
  }
  SECTION("labels cut off") {
    write_bytes(pair.labels, idx(8, {kImages}, classes_of(kImages - 1)));
    wanted = "65: " + labels + " ends after 110 bytes, 1 more are missing";
  }
  SECTION("header cut off") {
    write_bytes(pair.images, Bytes("\0\0\x08\x03\0\0", 6));
    wanted = "65: " + images + " ends after 6 bytes, 2 more are missing in its header";
  }
  SECTION("empty file") {
    write_bytes(pair.images, "");
    wanted = "65: " + images + " ends after 0 bytes, 4 more are missing in its header";
  }
  SECTION("bad magic") {
    write_bytes(pair.images, "hello, this is a text");
    wanted =
        "65: " + images + " is not an IDX file: it begins with 68 65 6c 6c, wanted 00 00, a type and a rank";
  }
  SECTION("floats") {
    write_gzip(pair.images, idx(0x0d, {1, 1, 3}, Bytes(12, '\0')));
    wanted = "65: " + images + " has floats (type 0d), wanted unsigned bytes (type 08)";
  }
  SECTION("fewer labels than images") {
    write_gzip(pair.labels, idx(8, {kImages - 1}, classes_of(kImages - 1)));
    wanted = "65: " + images + " has 103 images, but " + labels + " has 102 labels";
  }
  SECTION("the two files exchanged") {
    std::swap(pair.images, pair.labels);
    wanted = "65: " + labels + " has rank 1, wanted images of rank 2 to 4";
  }
  SECTION("images given twice") {
    pair.labels = pair.images;
    wanted = "65: " + images + " has rank 3, wanted labels of rank 1";
  }
  SECTION("garbage after the images") {
    write_gzip(pair.images, idx(8, {kImages, 3, 4}, pixels() + "x"));
    wanted = "65: " + images + " goes on after byte 1252, where its header says that it ends";
  }
  SECTION("garbage after the labels") {
    write_bytes(pair.labels, idx(8, {kImages}, classes_of() + "x"));
    wanted = "65: " + labels + " goes on after byte 111";
  }
  SECTION("a label beyond the classes") {
    pair.target.classes = 9;
    wanted = "65: " + labels + " has label 9 in row 9, wanted 0 to 8: correct --classes";
  }
  SECTION("no image") {
    write_gzip(pair.images, idx(8, {0, 3, 4}, ""));
    write_gzip(pair.labels, idx(8, {0}, ""));
    wanted = "65: " + images + " has no image";
  }
  SECTION("images of no pixel") {
    write_gzip(pair.images, idx(8, {kImages, 3, 0}, ""));
    wanted = "65: " + images + " has items with an extent of 0";
  }
  SECTION("a header that promises far too much") {
    write_gzip(pair.images, idx(8, {kImages, 0xffffffff, 0xffffffff}, pixels()));
    wanted = "65: " + images + " has items with an extent of 4294967295, which is empty or beyond 2 GiB";
  }
  SECTION("more shards than samples") {
    pair.target.shards = 104;
    wanted = "64: 104 shards for 103 samples";
  }
  REQUIRE_FALSE(wanted.empty());
  CHECK_THAT(pair.error(), Catch::StartsWith(wanted));
  CHECK(files_below(folder / "out") == 0);
  CHECK_FALSE(std::filesystem::exists(folder / "out/train"));
}

TEST_CASE("what is there already is never overwritten", "[data]") {
  const TemporaryFolder folder;
  const Pair pair(folder);
  std::filesystem::create_directories(folder / "out/train");
  write_bytes(folder / "out/train/mine", "precious");
  CHECK_THAT(pair.error(), Catch::StartsWith("73: cannot write shards to " + pair.target.out.string() +
                                             ": it exists and is not an empty folder"));
  CHECK(files_below(folder / "out") == 1);
}

TEST_CASE("the command line of lockstep data", "[data]") {
  const auto error = [](std::vector<std::string> args) {
    return test::error_of([&] { cli::data_command(args); });
  };
  CHECK_THAT(error({}), Catch::StartsWith("64: lockstep data needs import, info or verify"));
  CHECK_THAT(error({"inof"}), Catch::StartsWith("64: lockstep data has no command 'inof'"));
  CHECK_THAT(error({"info"}), Catch::StartsWith("64: lockstep data info takes one folder"));
  CHECK_THAT(error({"import"}), Catch::StartsWith("64: lockstep data import needs a format, one of: idx"));
  CHECK_THAT(error({"import", "png"}),
             Catch::StartsWith("64: lockstep data import does not know the format 'png'"));
  CHECK_THAT(error({"import", "idx", "--images", "a"}), Catch::Contains("'--labels' is required"));
  const auto idx_error = [&](const std::vector<std::string>& more) {
    std::vector<std::string> args = {"import", "idx", "--images", "a", "--labels", "b", "--out", "c"};
    args.insert(args.end(), more.begin(), more.end());
    return error(args);
  };
  CHECK_THAT(idx_error({"--shards", "0"}), Catch::StartsWith("64: --shards is 0, wanted at least 1"));
  CHECK_THAT(idx_error({"--shards", "two"}), Catch::StartsWith("64: the argument ('two')"));
  CHECK_THAT(idx_error({"--classes", "0"}), Catch::StartsWith("64: --classes is 0"));
  CHECK_THAT(idx_error({"--std", "0"}), Catch::StartsWith("64: --std is 0, wanted a number above 0"));
  CHECK_THAT(idx_error({"--scale", "0"}), Catch::StartsWith("64: --scale is 0"));
  CHECK_THAT(idx_error({"--mean", "nan"}), Catch::StartsWith("64: --mean is nan"));
  CHECK_THAT(idx_error({"--normalise-from", "d", "--mean", "1"}), Catch::Contains("exclude each other"));
  CHECK_THAT(idx_error({"stray"}), Catch::StartsWith("64: "));
}
