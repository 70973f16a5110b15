#include "data/import_csv.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "data/dataset.h"
#include "import_fixture.h"

using namespace lockstep;
using test::import;
using test::import_error;
using test::Options;

namespace {

struct Table {
  explicit Table(const std::string& text) {
    target.out = folder / "out/train";
    write(text);
    options = {{"file", {file.string()}}, {"label", {"kind"}}};
  }
  void write(const std::string& text) const { test::write_bytes(file, text); }
  std::string error() const { return import_error("csv", options, target); }
  data::Imported run() const { return import("csv", options, target); }
  test::Stored stored() const { return test::stored_in(target.out); }

  test::TemporaryFolder folder;
  std::filesystem::path file = folder / "t.csv";
  Options options;
  data::ImportTarget target;
};

std::string text_in(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

constexpr const char* kFlowers = "length,width,kind\n1.5,2,tulip\n-3,4e2,rose\n0.25,+6, tulip\n";
const std::vector<double> kFlowersX = {1.5, 2, -3, 400, 0.25, 6};

}  // namespace

TEST_CASE("a CSV file with a header: names of classes are numbered in order", "[data]") {
  Table table(kFlowers);
  table.target.shards = 2;
  SECTION("as it is") {}
  SECTION("CRLF, a byte order mark, no end of the last line") {
    table.write("\xef\xbb\xbflength,width,kind\r\n1.5,2,tulip\r\n-3,4e2,rose\r\n0.25,+6, tulip");
  }
  SECTION("empty lines") {
    table.write("\n\nlength,width,kind\n\n1.5,2,tulip\n-3,4e2,rose\n0.25,+6, tulip\n\n");
  }
  SECTION("quotes") {
    table.write("\"length\",\"width\",\"kind\"\n\"1.5\",2,\"tulip\"\n-3,\"4e2\",rose\n0.25,+6, tulip\n");
  }
  SECTION("tabs") {
    table.write("length\twidth\tkind\n1.5\t2\ttulip\n-3\t4e2\trose\n0.25\t+6\t tulip\n");
    table.options["separator"] = {"tab"};
  }
  SECTION("the label by its number") {
    table.options["label"] = {"3"};
  }
  SECTION("without a header, the label in front") {
    table.write("tulip,1.5,2\nrose,-3,4e2\n tulip,0.25,+6\n");
    table.options["label"] = {"1"};
  }
  SECTION("a column passed over") {
    table.write("length,note,width,kind\n1.5,long,2,tulip\n-3,,4e2,rose\n0.25,x,+6, tulip\n");
    table.options["ignore"] = {"note"};
  }
  SECTION("gzip'd") {
    test::write_gzip(table.file, kFlowers);
  }
  const data::Imported result = table.run();
  CHECK(result.samples == 3);
  CHECK(result.classes == 2);
  CHECK(result.class_names == std::vector<std::string>{"rose", "tulip"});
  CHECK(text_in(table.target.out / "classes.txt") == "rose\ntulip\n");
  CHECK(table.stored().x == kFlowersX);
  CHECK(table.stored().y == std::vector<double>{1, 0, 1});
  // Each column is normalised by itself.
  const data::Normalisation normal = data::Dataset::open(table.target.out).normalisation();
  REQUIRE(normal.mean.size() == 2);
  CHECK(normal.scale == 1);
  CHECK(normal.mean[0] == Approx((1.5 - 3 + 0.25) / 3));
  CHECK(normal.mean[1] == Approx(136));
  CHECK(normal.std[1] == Approx(186.6833861));
}

TEST_CASE("labels of a CSV file that are numbers stay what they are", "[data]") {
  Table table("0,5,1\n0,6,3\n0,7,1\n");
  table.options["label"] = {"3"};
  SECTION("from 0") {
    const data::Imported result = table.run();
    CHECK(result.classes == 4);
    CHECK(result.empty_classes == std::vector<std::int64_t>{0, 2});
    CHECK(table.stored().y == std::vector<double>{1, 3, 1});
    CHECK_FALSE(std::filesystem::exists(table.target.out / "classes.txt"));
  }
  SECTION("from 1") {
    table.options["label-form"] = {"from-1"};
    CHECK(table.run().classes == 3);
    CHECK(table.stored().y == std::vector<double>{0, 2, 0});
  }
  SECTION("as names") {
    table.options["label-form"] = {"names"};
    CHECK(table.run().classes == 2);
    CHECK(table.stored().y == std::vector<double>{0, 1, 0});
  }
  SECTION("numbers below 0 are names") {
    table.write("0,5,1\n0,6,-1\n0,7,1\n");
    CHECK(table.run().class_names == std::vector<std::string>{"-1", "1"});
  }
  // A column of one value has no spread.
  CHECK(data::Dataset::open(table.target.out).normalisation().std[0] == 1);
}

TEST_CASE("numbers to predict from a CSV file", "[data]") {
  Table table("a,b,up,down\n1,2,0.5,7\n3,4,-0.5,8\n");
  table.options.erase("label");
  table.options["target"] = {"up, down"};
  CHECK(table.run().target_width == 2);
  CHECK(table.stored().x == std::vector<double>{1, 2, 3, 4});
  CHECK(table.stored().y == std::vector<double>{0.5, 7, -0.5, 8});
}

TEST_CASE("samples of a CSV file can have a shape", "[data]") {
  Table table("0,1,2,3,4,5,0\n6,7,8,9,10,11,1\n");
  table.options["label"] = {"7"};
  table.options["shape"] = {"1x2x3"};
  CHECK(table.run().sample_shape == std::vector<std::int64_t>{1, 2, 3});
  CHECK(data::Dataset::open(table.target.out).normalisation().mean == std::vector<double>{5.5});
}

TEST_CASE("a second CSV file takes the classes of the first by name", "[data]") {
  Table table(kFlowers);
  table.run();
  table.target.like = table.target.out;
  table.target.like_shape = {2};
  table.target.classes = 2;
  table.target.out = table.folder / "test";
  table.write("length,width,kind\n1,2,tulip\n3,4,tulip\n");
  table.run();
  CHECK(table.stored().y == std::vector<double>{1, 1});

  table.write("length,width,kind\n1,2,tulip\n3,4,iris\n");
  table.target.out = table.folder / "none/test";
  CHECK_THAT(table.error(),
             Catch::StartsWith("65: " + table.file.string() +
                               ":3: column 3 (kind) is \"iris\", wanted a class of the split"));
}

TEST_CASE("pieces of a CSV file are put together in order", "[data]") {
  Table table("");
  std::string text = "x,kind\n";
  constexpr std::int64_t rows = 300'000;
  for (std::int64_t i = 0; i < rows; ++i) text += std::to_string(i) + "," + std::to_string(i % 3) + "\n";
  table.options["shape"] = {"1"};
  table.write(text);
  CHECK(table.run().samples == rows);
  const test::Stored stored = table.stored();
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto at = static_cast<std::size_t>(i);
    wrong += stored.x[at] != static_cast<double>(i) || stored.y[at] != static_cast<double>(i % 3);
  }
  CHECK(wrong == 0);
}

TEST_CASE("a faulty CSV file is named with line and column, and nothing is left behind", "[data]") {
  Table table(kFlowers);
  const std::string file = table.file.string();
  const auto with = [&](const std::string& lines) { table.write("length,width,kind\n1,2,rose\n" + lines); };
  std::string wanted;
  SECTION("missing") {
    std::filesystem::remove(table.file);
    wanted = "66: cannot open " + file;
  }
  SECTION("a folder") {
    table.options["file"] = {table.folder.path().string()};
    wanted = "66: " + table.folder.path().string() + " is no regular file";
  }
  SECTION("empty") {
    table.write("");
    wanted = "65: " + file + " is empty";
  }
  SECTION("a line of nothing but separators") {
    table.write(std::string(std::size_t{1} << 24, ','));
    wanted = "65: " + file + ":1: the record that begins here has more than 16777216 fields";
  }
  SECTION("only a header") {
    table.write("length,width,kind\n");
    wanted = "65: " + file + " has no line with a sample";
  }
  SECTION("a word where a number should be") {
    with("3,4,rose\n5,wide,rose\n");
    wanted = "65: " + file + ":4: column 2 (width) is \"wide\", wanted a finite number: correct or remove";
  }
  SECTION("an empty field") {
    with(",4,rose\n");
    wanted = "65: " + file + ":3: column 1 (length) is empty, wanted a finite number";
  }
  SECTION("NaN") {
    with("nan,4,rose\n");
    wanted = "65: " + file + ":3: column 1 (length) is \"nan\", wanted a finite number";
  }
  SECTION("beyond float32") {
    with("1e39,4,rose\n");
    wanted = "65: " + file + ":3: column 1 (length) is \"1e39\"";
  }
  SECTION("a decimal comma") {
    table.write("length;width;kind\n1,5;2;rose\n");
    table.options["separator"] = {";"};
    wanted = "65: " + file + ":2: column 1 (length) is \"1,5\"";
  }
  SECTION("an empty label") {
    with("3,4, \n");
    wanted = "65: " + file + ":3: column 3 (kind) is empty, wanted a label";
  }
  SECTION("a label of two lines") {
    with("3,4,\"ro\nse\"\n");
    wanted = "65: " + file + ":3: column 3 (kind) has a label with a line end";
  }
  SECTION("a label in Latin-1") {
    with("3,4,ros\xe9\n");
    wanted = "65: " + file + ":3: column 3 (kind) is \"ros\xef\xbf\xbd\", wanted text in UTF-8";
  }
  SECTION("a column's name in Latin-1") {
    table.write("l\xe4nge,width,kind\n1,2,rose\n");
    wanted = "65: " + file + ":1: the name of column 1 is \"l\xef\xbf\xbdnge\", wanted text in UTF-8";
  }
  SECTION("a field in Latin-1") {
    with("3,caf\xe9,rose\n");
    wanted = "65: " + file + ":3: column 2 (width) is \"caf\xef\xbf\xbd\", wanted a finite number";
  }
  SECTION("a label that is a whole text") {
    with("3,4," + std::string(1001, 'a') + "\n");
    wanted = "65: " + file + ":3: column 3 (kind) has 1001 bytes, wanted a label of at most 1000";
  }
  SECTION("a name where labels are numbers") {
    table.options["label-form"] = {"from-0"};
    wanted = "65: " + file + ":2: column 3 (kind) is \"tulip\", wanted a class number from 0 on; for names";
  }
  SECTION("a label beyond the classes") {
    table.target.classes = 1;
    wanted = "65: " + file + ":2: column 3 (kind) is \"tulip\", class 1, wanted 0 to 0: correct --classes";
  }
  SECTION("a field too many") {
    with("3,4,rose,5\n");
    wanted = "65: " + file + ":3: it has 4 fields, wanted 3 as in line 1";
  }
  SECTION("a quote that does not end, lines counted within it") {
    with("3,\"4\n5\",rose\n3,\"4,rose\n7,8,rose\n");
    wanted = "65: " + file + ":5: a quote that is opened in the record that begins here does not end";
  }
  SECTION("a quote in the middle") {
    with("3,4,ro\"se\n");
    wanted = "65: " + file + ":3: field 3 has a quote in its middle";
  }
  SECTION("text after a quote") {
    with("3,4,\"ro\"se\n");
    wanted = "65: " + file + ":3: field 3 goes on after its closing quote";
  }
  SECTION("UTF-16") {
    table.write("\xff\xfel\0e\0");
    wanted = "65: " + file + ":1: it is UTF-16, wanted UTF-8";
  }
  SECTION("zero bytes") {
    table.write(std::string("a,b\n1,\0\n", 8));
    table.options["label"] = {"2"};
    wanted = "65: " + file + ":2: it has a zero byte, wanted text";
  }
  SECTION("no such column") {
    table.options["label"] = {"kinds"};
    wanted = "64: " + file + " has no column kinds, did you mean kind?; it has: length, width, kind";
  }
  SECTION("no such number") {
    table.options["label"] = {"4"};
    wanted = "64: " + file + " has no column 4, wanted 1 to 3: is --separator right?";
  }
  SECTION("a name that two columns have") {
    table.write("kind,width,kind\n1,2,3\n");
    wanted = "64: " + file + " has 2 columns kind: give the column's number";
  }
  SECTION("a column twice") {
    table.options["ignore"] = {"3"};
    wanted = "64: " + file + ": column 3 (kind) is given twice";
  }
  SECTION("nothing left") {
    table.options["ignore"] = {"1,2"};
    wanted = "64: " + file + " has 3 columns, and none is left for the sample";
  }
  SECTION("a first line that may be both") {
    table.write("1,wide,rose\n1,2,rose\n");
    table.options["label"] = {"3"};
    wanted = "64: " + file + ":1: the first line has numbers, but column 2 is \"wide\"";
  }
  SECTION("neither label nor target") {
    table.options.erase("label");
    wanted = "64: give --label=COLUMN for classes, or --target=COLUMNS";
  }
  SECTION("both") {
    table.options["target"] = {"width"};
    wanted = "64: give --label=COLUMN for classes, or --target=COLUMNS";
  }
  SECTION("a separator of two characters") {
    table.options["separator"] = {";;"};
    wanted = "64: --separator is \";;\", wanted one character";
  }
  REQUIRE_FALSE(wanted.empty());
  CHECK_THAT(table.error(), Catch::StartsWith(wanted));
}
