// Names of columns and classes: a split whose columns stand in another order must not pass for one like it.
#include "data/names.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "data/dataset.h"
#include "import_fixture.h"
#include "train/identity.h"

using namespace lockstep;
using data::Dataset;

namespace {

using Texts = std::vector<std::string>;

// As h5py stores a list of str.
void add_texts(const hdf5::File& file, const std::string& name, const Texts& texts) {
  const hdf5::Datatype type(H5Tcopy(H5T_C_S1));
  H5Tset_size(type.get(), H5T_VARIABLE);
  H5Tset_cset(type.get(), H5T_CSET_UTF8);
  const hsize_t count = texts.size();
  const hdf5::Dataspace space(H5Screate_simple(1, &count, nullptr));
  const hdf5::Dataset dataset(
      H5Dcreate2(file.get(), name.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  std::vector<const char*> values;
  for (const std::string& text : texts) values.push_back(text.c_str());
  REQUIRE(H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0);
}

void name(const std::filesystem::path& shard, const std::string& what, const Texts& texts) {
  test::edit_file(shard, [&](const hdf5::File& file) { add_texts(file, what, texts); });
}

struct Splits {
  // Of the values that the normalisation would tell apart, each has one kind.
  data::Imported import_as(const std::string& split, const std::string& text) const {
    test::write_bytes(folder / (split + ".csv"), text);
    data::ImportTarget target;
    target.out = folder / split;
    target.shards = 2;
    target.mean = {0};
    target.std = {1};
    return test::import("csv", {{"file", {(folder / (split + ".csv")).string()}}, {"label", {"kind"}}},
                        target);
  }
  Dataset open(const std::string& split) const { return Dataset::open(folder / split); }
  std::string compared() const {
    return test::error_of([&] { train::check_same_kind(open("train"), open("test")); });
  }

  test::TemporaryFolder folder;
};

constexpr const char* kTrain = "length,width,kind\n1,2,tulip\n3,4,rose\n";

}  // namespace

TEST_CASE("a table's columns and classes keep their names in every shard", "[data]") {
  const Splits splits;
  splits.import_as("train", "\"l\xc3\xa4nge\nin cm\",,kind\n1,2,tulip\n3,4,rose\n");
  const Dataset train = splits.open("train");
  REQUIRE(train.shards().size() == 2);
  for (const data::Shard& shard : train.shards()) {
    const data::Names names = data::read_shard(shard.file).names;
    CHECK(names.features == Texts{"l\xc3\xa4nge\nin cm", ""});
    CHECK(names.classes == Texts{"rose", "tulip"});
    CHECK(names.targets.empty());
  }
  CHECK(train.named_in() == splits.folder / "train/00000.h5");
}

TEST_CASE("a test split with its columns in another order is refused before anything is evaluated",
          "[data]") {
  const Splits splits;
  splits.import_as("train", kTrain);
  const std::string test_shard = (splits.folder / "test/00000.h5").string();
  const std::string train_shard = (splits.folder / "train/00000.h5").string();
  SECTION("the same order") {
    splits.import_as("test", "length,width,kind\n5,6,rose\n7,8,tulip\n");
    CHECK(splits.compared() == "no error");
  }
  SECTION("another order") {
    splits.import_as("test", "width,length,kind\n6,5,rose\n8,7,tulip\n");
    CHECK_THAT(splits.compared(), Catch::StartsWith("65: " + test_shard + " has feature 1 \"width\", where " +
                                                    train_shard + " has \"length\""));
  }
  SECTION("a column of another name") {
    splits.import_as("test", "length,height,kind\n6,5,rose\n8,7,tulip\n");
    CHECK_THAT(splits.compared(),
               Catch::StartsWith("65: " + test_shard + " has feature 2 \"height\", where " + train_shard +
                                 " has \"width\""));
  }
  SECTION("the label elsewhere") {
    splits.import_as("test", "length,kind,width\n5,rose,6\n7,tulip,8\n");
    CHECK(splits.compared() == "no error");
  }
  SECTION("classes numbered otherwise") {
    splits.import_as("test", "length,width,kind\n5,6,aster\n7,8,tulip\n");
    CHECK_THAT(splits.compared(), Catch::StartsWith("65: " + test_shard + " has class 0 \"aster\", where " +
                                                    train_shard + " has \"rose\""));
  }
  SECTION("without names, as older shards are") {
    splits.import_as("test", "length,width,kind\n5,6,rose\n7,8,tulip\n");
    for (const char* shard : {"test/00000.h5", "test/00001.h5"}) {
      test::edit_file(splits.folder / shard, [](const hdf5::File& file) {
        H5Ldelete(file.get(), data::feature_names, H5P_DEFAULT);
        H5Ldelete(file.get(), data::class_names, H5P_DEFAULT);
      });
    }
    CHECK(splits.open("test").names().empty());
    CHECK(splits.compared() == "no error");
  }
}

TEST_CASE("at the import the order is compared with the training split's", "[data]") {
  const Splits splits;
  splits.import_as("train", kTrain);
  const std::string train = (splits.folder / "train").string();
  const std::string file = (splits.folder / "other.csv").string();
  data::ImportTarget target;
  target.out = splits.folder / "out/other";
  target.like = train;
  target.like_shape = {2};
  target.like_names = splits.open("train").names();
  SECTION("features") {
    test::write_bytes(file, "width,length,kind\n2,1,tulip\n");
    CHECK_THAT(
        test::import_error("csv", {{"file", {file}}, {"label", {"kind"}}}, target),
        Catch::StartsWith("65: " + file + " has feature 1 \"width\", where " + train + " has \"length\""));
  }
  SECTION("targets") {
    target.like_names = {{"a", "b"}, {"up", "down"}, {}};
    test::write_bytes(file, "a,b,up,down\n2,1,0,1\n");
    CHECK_THAT(test::import_error("csv", {{"file", {file}}, {"target", {"down,up"}}}, target),
               Catch::StartsWith("65: " + file + " has target 1 \"down\", where " + train + " has \"up\""));
  }
  SECTION("classes are those of the shards, without classes.txt too") {
    std::filesystem::remove(splits.folder / "train/classes.txt");
    test::write_bytes(file, "length,width,kind\n2,1,tulip\n");
    const Dataset other = splits.open("train");
    target.classes = other.classes();
    CHECK(test::import("csv", {{"file", {file}}, {"label", {"kind"}}}, target).empty_classes ==
          std::vector<std::int64_t>{0});
    CHECK(test::stored_in(target.out).y == std::vector<double>{1});
  }
}

TEST_CASE("shards of a split must agree in their names, where they have some", "[data]") {
  const test::TemporaryFolder folder;
  test::ShardSpec spec;
  spec.sample_shape = {2};
  test::write_shards(folder.path(), {5, 5, 5}, spec);
  const auto error = [&] { return test::error_of([&] { Dataset::open(folder.path()); }); };
  const std::string last = (folder / "02.h5").string();
  name(folder / "00.h5", data::feature_names, {"a", "b"});
  SECTION("alike, or none") {
    name(folder / "02.h5", data::feature_names, {"a", "b"});
    CHECK(error() == "no error");
  }
  SECTION("another order") {
    name(folder / "02.h5", data::feature_names, {"b", "a"});
    CHECK_THAT(error(), Catch::StartsWith("65: " + last + " has feature 1 \"b\", where " +
                                          (folder / "00.h5").string() + " has \"a\""));
  }
  SECTION("too few names") {
    name(folder / "02.h5", data::feature_names, {"a"});
    CHECK_THAT(error(), Catch::StartsWith("65: dataset feature_names of " + last +
                                          " has 1 names, but a sample has 2 numbers"));
  }
  SECTION("too many names") {
    name(folder / "02.h5", data::class_names, Texts(11, "x"));
    CHECK_THAT(error(),
               Catch::StartsWith("65: dataset class_names of " + last + " has 11 names, wanted at most 10"));
  }
  SECTION("no UTF-8") {
    name(folder / "02.h5", data::feature_names, {"a", "caf\xe9"});
    CHECK_THAT(error(),
               Catch::StartsWith("65: dataset feature_names of " + last +
                                 " has \"caf\xef\xbf\xbd\" in row 1; store names as texts in UTF-8"));
  }
  SECTION("no texts") {
    test::edit_file(folder / "02.h5", [](const hdf5::File& file) {
      const hsize_t count = 2;
      const hdf5::Dataspace space(H5Screate_simple(1, &count, nullptr));
      const hdf5::Dataset dataset(H5Dcreate2(file.get(), data::feature_names, H5T_STD_I32LE, space.get(),
                                             H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    });
    CHECK_THAT(error(), Catch::StartsWith("65: dataset feature_names of " + last + " is no list of names"));
  }
}
