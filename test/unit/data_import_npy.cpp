#include "data/npy_file.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "data/dataset.h"
#include "import_fixture.h"

using namespace lockstep;
using test::import;
using test::import_error;
using test::Options;
using test::write_bytes;

namespace {

std::string header(const std::string& dictionary, int version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(version);
  bytes += '\0';
  const auto length = dictionary.size();
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) bytes += static_cast<char>(length >> (8 * i));
  return bytes + dictionary;
}

std::string array(const std::string& descr, const std::string& shape, const std::string& content,
                  int version = 1) {
  return header("{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }\n", version) +
         content;
}

// The bytes of numbers, in the order that `descr` names.
template <typename T>
std::string bytes_of(const std::vector<T>& numbers, char order = '<') {
  std::string bytes;
  for (const T number : numbers) {
    std::string one(sizeof number, '\0');
    std::memcpy(one.data(), &number, sizeof number);
    if (order == '>') std::reverse(one.begin(), one.end());
    bytes += one;
  }
  return bytes;
}

// Three samples of two numbers that are right, until a test spoils them.
struct Pair {
  Pair() {
    target.out = folder / "out/train";
    write_bytes(x, array("<f4", "(3, 2)", bytes_of<float>({1, 2, 3, 4, 5, 6})));
    write_bytes(y, array("<i8", "(3,)", bytes_of<std::int64_t>({0, 2, 1})));
    options = {{"x", {x.string()}}, {"y", {y.string()}}};
  }
  std::string error() const { return import_error("npy", options, target); }
  data::Imported run() const { return import("npy", options, target); }
  test::Stored stored() const { return test::stored_in(target.out); }

  test::TemporaryFolder folder;
  std::filesystem::path x = folder / "x.npy";
  std::filesystem::path y = folder / "y.npy";
  Options options;
  data::ImportTarget target;
};

template <typename T>
void check_type(const std::string& code, std::vector<T> numbers) {
  for (const char order : {'<', '>'}) {
    Pair pair;
    write_bytes(pair.x, array(order + code, "(3, 2)", bytes_of(numbers, order)));
    pair.run();
    CHECK(pair.stored().x == std::vector<double>(numbers.begin(), numbers.end()));
  }
}

}  // namespace

TEST_CASE("NPY files of every type of number and both byte orders are read", "[data]") {
  check_type<std::uint8_t>("u1", {0, 1, 2, 3, 254, 255});
  check_type<std::int8_t>("i1", {0, 1, -2, 3, -128, 127});
  check_type<std::uint16_t>("u2", {0, 1, 2, 258, 65534, 65535});
  check_type<std::int16_t>("i2", {0, 1, -2, 258, -32768, 32767});
  check_type<std::uint32_t>("u4", {0, 1, 2, 258, 65536, 16777216});
  check_type<std::int32_t>("i4", {0, 1, -2, 258, -65536, -16777216});
  check_type<std::uint64_t>("u8", {0, 1, 2, 258, 65536, 16777216});
  check_type<std::int64_t>("i8", {0, 1, -2, 258, -65536, -16777216});
  check_type<float>("f4", {0, 1, -2.5F, 258, 1e30F, -1e-30F});
  check_type<double>("f8", {0, 1, -2.5, 258, 1e30, -1e-300});
}

TEST_CASE("NPY headers of versions 1 to 3, with keys in any order", "[data]") {
  Pair pair;
  SECTION("1.0") {}
  SECTION("2.0") {
    write_bytes(pair.x, array("<f4", "(3, 2)", bytes_of<float>({1, 2, 3, 4, 5, 6}), 2));
  }
  SECTION("3.0") {
    write_bytes(pair.x, array("<f4", "(3, 2)", bytes_of<float>({1, 2, 3, 4, 5, 6}), 3));
  }
  SECTION("another order, quotes and spaces") {
    write_bytes(pair.x, header(R"({"shape":(3L,2L),"fortran_order":False,"descr":"<f4"}          )"
                               "\n") +
                            bytes_of<float>({1, 2, 3, 4, 5, 6}));
  }
  SECTION("Fortran order that is C order too") {
    write_bytes(pair.x, header("{'descr': '<f4', 'fortran_order': True, 'shape': (6, 1), }\n") +
                            bytes_of<float>({1, 2, 3, 4, 5, 6}));
    write_bytes(pair.y, array("|u1", "(6,)", bytes_of<std::uint8_t>({0, 1, 2, 0, 1, 2})));
    CHECK(pair.run().samples == 6);
    return;
  }
  SECTION("gzip'd") {
    test::write_gzip(pair.x, array("<f4", "(3, 2)", bytes_of<float>({1, 2, 3, 4, 5, 6})));
  }
  const data::Imported result = pair.run();
  CHECK(result.samples == 3);
  CHECK(result.classes == 3);
  CHECK(result.sample_shape == std::vector<std::int64_t>{2});
  CHECK(result.scale == 1);
  CHECK(result.mean.front() == Approx(3.5));
  CHECK(result.std.front() == Approx(1.707825127659933));
  CHECK(pair.stored().x == std::vector<double>{1, 2, 3, 4, 5, 6});
  CHECK(pair.stored().y == std::vector<double>{0, 2, 1});
}

TEST_CASE("images of an NPY file are transposed, or get a channel", "[data]") {
  Pair pair;
  std::vector<std::uint8_t> pixels(3 * 2 * 2 * 3);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i);
  SECTION("height, width, channel") {
    write_bytes(pair.x, array("|u1", "(3, 2, 2, 3)", bytes_of(pixels)));
    pair.options["layout"] = {"hwc"};
  }
  SECTION("flat rows with a shape") {
    write_bytes(pair.x, array("|u1", "(3, 12)", bytes_of(pixels)));
    pair.options["shape"] = {"2x2x3"};
    pair.options["layout"] = {"hwc"};
  }
  SECTION("grey") {
    write_bytes(pair.x, array("|u1", "(3, 4, 3)", bytes_of(pixels)));
    pair.options["layout"] = {"hw"};
    CHECK(pair.run().sample_shape == std::vector<std::int64_t>{1, 4, 3});
    CHECK(pair.stored().x.at(13) == 13);
    return;
  }
  const data::Imported result = pair.run();
  CHECK(result.sample_shape == std::vector<std::int64_t>{3, 2, 2});
  CHECK(result.scale == 1.0 / 255);
  const std::vector<double> x = pair.stored().x;
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t channel = 0; channel < 3; ++channel) {
      for (std::size_t pixel = 0; pixel < 4; ++pixel) {
        CHECK(x.at(row * 12 + channel * 4 + pixel) == static_cast<double>(row * 12 + pixel * 3 + channel));
      }
    }
  }
}

TEST_CASE("labels of an NPY file: from 1, one-hot, whole floats, numbers to predict", "[data]") {
  Pair pair;
  SECTION("from 1") {
    write_bytes(pair.y, array("<i4", "(3,)", bytes_of<std::int32_t>({1, 3, 2})));
    pair.options["label-form"] = {"from-1"};
    CHECK(pair.run().classes == 3);
    CHECK(pair.stored().y == std::vector<double>{0, 2, 1});
  }
  SECTION("one-hot, and a class that no sample has") {
    write_bytes(pair.y, array("|b1", "(3, 4)", bytes_of<std::uint8_t>({1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0})));
    pair.options["label-form"] = {"one-hot"};
    CHECK(pair.run().classes == 4);
    CHECK(pair.stored().y == std::vector<double>{0, 2, 1});
  }
  SECTION("floats that are class numbers") {
    write_bytes(pair.y, array("<f8", "(3, 1)", bytes_of<double>({0, 2, 1})));
    pair.options["label-form"] = {"from-0"};
    CHECK(pair.run().classes == 3);
    CHECK(pair.stored().y == std::vector<double>{0, 2, 1});
  }
  SECTION("one number to predict") {
    write_bytes(pair.y, array("<f8", "(3,)", bytes_of<double>({0.5, -2, 1e10})));
    const data::Imported result = pair.run();
    CHECK(result.classes == 0);
    CHECK(result.target_width == 1);
    CHECK(pair.stored().y == std::vector<double>{0.5, -2, 1e10});
    CHECK(data::Dataset::open(pair.target.out).target_width() == 1);
  }
  SECTION("two numbers to predict, in two shards") {
    write_bytes(pair.y, array("<i4", "(3, 2)", bytes_of<std::int32_t>({1, 2, 3, 4, -5, 6})));
    pair.options["label-form"] = {"targets"};
    pair.target.shards = 2;
    CHECK(pair.run().target_width == 2);
    CHECK(pair.stored().y == std::vector<double>{1, 2, 3, 4, -5, 6});
  }
}

TEST_CASE("a faulty NPY file is named, and nothing is left behind", "[data]") {
  Pair pair;
  const std::string x = pair.x.string();
  const std::string y = pair.y.string();
  const std::string six = bytes_of<float>({1, 2, 3, 4, 5, 6});
  const auto x_is = [&](const std::string& descr, const std::string& content) {
    write_bytes(pair.x, array(descr, "(3, 2)", content));
  };
  const auto x_has = [&](const std::string& dictionary) { write_bytes(pair.x, header(dictionary) + six); };
  std::string wanted;
  SECTION("missing") {
    std::filesystem::remove(pair.x);
    wanted = "66: cannot open " + x + ": No such file or directory";
  }
  SECTION("a folder") {
    pair.options["x"] = {pair.folder.path().string()};
    wanted = "66: cannot read " + pair.folder.path().string() + ": it is a folder";
  }
  SECTION("an archive") {
    write_bytes(pair.x, "PK\x03\x04 and so on");
    wanted = "65: " + x + " is an .npz archive, wanted .npy: unpack it";
  }
  SECTION("something else") {
    write_bytes(pair.x, "hello, this is a text");
    wanted = "65: " + x + " is not an NPY file: it begins with 68 65 6c 6c";
  }
  SECTION("empty") {
    write_bytes(pair.x, "");
    wanted = "65: " + x + " ends after 0 bytes, 8 more are missing in its header";
  }
  SECTION("another version") {
    write_bytes(pair.x, array("<f4", "(3, 2)", six, 4));
    wanted = "65: " + x + " has NPY version 4.0, this program reads 1.0, 2.0 and 3.0";
  }
  SECTION("a header that promises far too much") {
    write_bytes(pair.x, std::string("\x93NUMPY\x02\0\xff\xff\xff\xff", 12));
    wanted = "65: " + x + " has a header of 4294967295 bytes";
  }
  SECTION("cut off") {
    x_is("<f4", six.substr(0, 20));
    wanted = "65: " + x + " ends after ";
  }
  SECTION("goes on") {
    x_is("<f4", six + "x");
    wanted = "65: " + x + " goes on after byte ";
  }
  SECTION("objects") {
    x_is("|O", six);
    wanted =
        "65: " + x + " has Python objects (type '|O'), wanted numbers (u1 to u8, i1 to i8, f4, f8): save";
  }
  SECTION("texts") {
    x_is("<U7", six);
    wanted = "65: " + x + " has texts (type '<U7')";
  }
  SECTION("half precision") {
    x_is("<f2", six);
    wanted = "65: " + x + " has floats of another size (type '<f2')";
  }
  SECTION("complex") {
    x_is("<c8", six);
    wanted = "65: " + x + " has complex numbers (type '<c8')";
  }
  SECTION("structured") {
    x_has("{'descr': [('a', '<f4'), ('b', '<f4')], 'fortran_order': False, 'shape': (3, 2), }\n");
    wanted = "65: " + x + " has a structured type, records with named fields, wanted plain numbers";
  }
  SECTION("Fortran order") {
    x_has("{'descr': '<f4', 'fortran_order': True, 'shape': (3, 2), }\n");
    wanted =
        "65: " + x + " is in Fortran order (columns first), wanted C order: save numpy.ascontiguousarray";
  }
  SECTION("a single value") {
    x_has("{'descr': '<f4', 'fortran_order': False, 'shape': (), }\n");
    wanted = "65: " + x + " is a single value";
  }
  SECTION("no shape") {
    x_has("{'descr': '<f4', 'fortran_order': False, }\n");
    wanted = "65: " + x + " has a damaged NPY header: it has no shape";
  }
  SECTION("a key twice") {
    x_has("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }\n");
    wanted = "65: " + x + " has a damaged NPY header: key 'descr' is there twice";
  }
  SECTION("an unknown key") {
    x_has("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), 'more': 1}\n");
    wanted = "65: " + x + " has a damaged NPY header: unknown key 'more'";
  }
  SECTION("a negative extent") {
    x_has("{'descr': '<f4', 'fortran_order': False, 'shape': (3, -2), }\n");
    wanted = "65: " + x + " has a damaged NPY header: shape has something else than whole numbers";
  }
  SECTION("an empty extent") {
    x_has("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 0), }\n");
    wanted = "65: " + x + " has items with an extent of 0";
  }
  SECTION("rows beyond all files") {
    x_has("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 2), }\n");
    wanted = "65: " + x + " says that it has 9223372036854775807 rows of 8 bytes";
  }
  SECTION("no row") {
    write_bytes(pair.x, array("<f4", "(0, 2)", ""));
    write_bytes(pair.y, array("<i8", "(0,)", ""));
    wanted = "65: " + x + " has no row";
  }
  SECTION("fewer labels") {
    write_bytes(pair.y, array("<i8", "(2,)", bytes_of<std::int64_t>({0, 1})));
    wanted = "65: " + x + " has 3 rows, but " + y + " has 2";
  }
  SECTION("labels in two columns") {
    write_bytes(pair.y, array("<i8", "(3, 2)", bytes_of<std::int64_t>({0, 1, 1, 0, 0, 1})));
    wanted = "65: " + y + " has 2 numbers a row, wanted one class number: for rows with a single 1 give";
  }
  SECTION("rows that are not one-hot") {
    write_bytes(pair.y, array("<i8", "(3, 2)", bytes_of<std::int64_t>({0, 1, 1, 1, 0, 1})));
    pair.options["label-form"] = {"one-hot"};
    wanted = "65: " + y + " has no single 1 among zeros in row 1";
  }
  SECTION("a negative label") {
    write_bytes(pair.y, array("<i8", "(3,)", bytes_of<std::int64_t>({0, 1, -1})));
    wanted = "65: " + y + " has label -1 in row 2, wanted 0 to ";
  }
  SECTION("a label beyond the classes") {
    pair.target.classes = 2;
    wanted = "65: " + y + " has label 2 in row 1, wanted 0 to 1: correct --classes";
  }
  SECTION("labels that are no classes") {
    write_bytes(pair.y, array("<i8", "(3,)", bytes_of<std::int64_t>({0, 1700000000, 1})));
    wanted = "65: " + y + ", row 1 has label 1700000000, which would make 1700000001 classes";
  }
  SECTION("a label 0 where they begin with 1") {
    pair.options["label-form"] = {"from-1"};
    wanted = "65: " + y + " has label 0 in row 0, wanted class numbers from 1 on";
  }
  SECTION("half a class") {
    write_bytes(pair.y, array("<f4", "(3,)", bytes_of<float>({0, 1, 0.5F})));
    pair.options["label-form"] = {"from-0"};
    wanted = "65: " + y + " has 0.5 in row 2, wanted a whole number";
  }
  SECTION("a sample that is no number") {
    x_is("<f4", bytes_of<float>({1, 2, 3, NAN, 5, 6}));
    wanted = "65: " + x + " has nan in row 1, number 1 of 2, wanted finite numbers within float32";
  }
  SECTION("a float64 that no float32 holds") {
    x_is("<f8", bytes_of<double>({1, 2, 3, 4, -1e300, 6}));
    wanted = "65: " + x + " has -1e+300 in row 2, number 0 of 2, wanted finite numbers within float32";
  }
  SECTION("a target that is no number") {
    write_bytes(pair.y, array("<f4", "(3,)", bytes_of<float>({0, 1, INFINITY})));
    wanted = "65: " + y + " has inf in row 2, wanted a finite number";
  }
  SECTION("an integer that no float32 holds") {
    x_is("<i4", bytes_of<std::int32_t>({1, 2, 3, 4, 16777217, 6}));
    wanted = "65: " + x + " has 16777217 in row 2, beyond the whole numbers that a float32 holds";
  }
  SECTION("a shape of other size") {
    pair.options["shape"] = {"1x3"};
    wanted = "65: " + x + " has samples of shape 2, 2 numbers, which are not 1x3 as --shape says";
  }
  SECTION("a layout of other rank") {
    pair.options["layout"] = {"hwc"};
    wanted = "65: " + x + " has samples of shape 2, wanted 3 dimensions for --layout=hwc";
  }
  SECTION("an unknown layout") {
    pair.options["layout"] = {"nhwc"};
    wanted = "64: --layout is nhwc, wanted one of: as-is, chw, hwc, hw";
  }
  SECTION("a shape of letters") {
    pair.options["shape"] = {"axb"};
    wanted = "64: --shape is axb, wanted up to 8 numbers";
  }
  SECTION("classes for numbers to predict") {
    write_bytes(pair.y, array("<f4", "(3,)", bytes_of<float>({0, 1, 2})));
    pair.target.classes = 3;
    wanted = "64: --classes is given, but here are numbers to predict";
  }
  SECTION("more shards than samples") {
    pair.target.shards = 4;
    wanted = "64: 4 shards for 3 samples: wanted 1 to 3";
  }
  REQUIRE_FALSE(wanted.empty());
  CHECK_THAT(pair.error(), Catch::StartsWith(wanted));
}
