#include <catch2/catch.hpp>

#include "data/dataset.h"
#include "hdf5/handle.h"
#include "import_fixture.h"

using namespace lockstep;
using test::import;
using test::import_error;
using test::Options;

namespace {

struct Spec {
  hid_t type = H5T_IEEE_F32LE;
  std::vector<hsize_t> extent;
  hsize_t chunk_rows = 0;
  bool gzip = false;
};

// Values 0, 1, 2, ... plus `first`.
void add_dataset(const hdf5::File& file, const std::string& name, const Spec& spec, double first = 0) {
  hsize_t count = 1;
  for (const hsize_t dim : spec.extent) count *= dim;
  std::vector<double> values;
  for (hsize_t i = 0; i < count; ++i) values.push_back(first + static_cast<double>(i));
  const hdf5::Dataspace space(
      H5Screate_simple(static_cast<int>(spec.extent.size()), spec.extent.data(), nullptr));
  const hdf5::PropertyList links(H5Pcreate(H5P_LINK_CREATE));
  H5Pset_create_intermediate_group(links.get(), 1);
  const hdf5::PropertyList creation(H5Pcreate(H5P_DATASET_CREATE));
  if (spec.chunk_rows > 0) {
    std::vector<hsize_t> chunk = spec.extent;
    chunk[0] = spec.chunk_rows;
    H5Pset_chunk(creation.get(), static_cast<int>(chunk.size()), chunk.data());
    if (spec.gzip) H5Pset_deflate(creation.get(), 4);
  }
  const hdf5::Dataset dataset(
      H5Dcreate2(file.get(), name.c_str(), spec.type, space.get(), links.get(), creation.get(), H5P_DEFAULT));
  REQUIRE(dataset.get() >= 0);
  if (H5Tget_class(spec.type) == H5T_INTEGER || H5Tget_class(spec.type) == H5T_FLOAT)
    REQUIRE(H5Dwrite(dataset.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0);
}

hdf5::File create(const std::filesystem::path& path) {
  return hdf5::File(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
}

struct Foreign {
  Foreign() {
    target.out = folder / "out/train";
    options = {{"file", {file.string()}}, {"x", {"images"}}, {"y", {"meta/labels"}}};
    write(file, {H5T_IEEE_F32LE, {4, 3}}, {H5T_STD_I32LE, {4}});
  }
  static void write(const std::filesystem::path& path, const Spec& x, const Spec& y, double first = 0) {
    const auto guard = hdf5::lock();
    const hdf5::File opened = create(path);
    add_dataset(opened, "images", x, first);
    add_dataset(opened, "meta/labels", y);
  }
  void x_is(hid_t type) const { write(file, {type, {4, 3}}, {H5T_STD_I32LE, {4}}); }
  std::string error() const { return import_error("hdf5", options, target); }
  data::Imported run() const { return import("hdf5", options, target); }
  test::Stored stored() const { return test::stored_in(target.out); }

  test::TemporaryFolder folder;
  std::filesystem::path file = folder / "theirs.h5";
  Options options;
  data::ImportTarget target;
};

std::vector<double> range(std::size_t count) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(static_cast<double>(i));
  return values;
}

}  // namespace

TEST_CASE("datasets of any storage and type of number are imported", "[data]") {
  const Foreign foreign;
  const Spec y{H5T_STD_I32LE, {4}};
  SECTION("contiguous floats") {}
  SECTION("half precision") {
    const auto guard = hdf5::lock();
    const hdf5::Datatype half(H5Tcopy(H5T_IEEE_F32LE));
    H5Tset_fields(half.get(), 15, 10, 5, 0, 10);
    H5Tset_size(half.get(), 2);
    H5Tset_ebias(half.get(), 15);
    foreign.x_is(half.get());
  }
  SECTION("big-endian") {
    foreign.x_is(H5T_IEEE_F64BE);
  }
  SECTION("int64") {
    foreign.x_is(H5T_STD_I64BE);
  }
  SECTION("chunked and compressed") {
    Foreign::write(foreign.file, {H5T_STD_U16LE, {4, 3}, 3, true}, y);
  }
  const data::Imported result = foreign.run();
  CHECK(result.samples == 4);
  CHECK(result.classes == 4);
  CHECK(result.scale == 1);
  CHECK(foreign.stored().x == range(12));
  CHECK(foreign.stored().y == range(4));
}

TEST_CASE("several HDF5 files follow each other", "[data]") {
  Foreign foreign;
  const std::filesystem::path more = foreign.folder / "more.h5";
  Foreign::write(more, {H5T_IEEE_F32LE, {2, 3}}, {H5T_STD_I32LE, {2}}, 12);
  foreign.options["file"].push_back(more.string());
  foreign.target.shards = 4;
  CHECK(foreign.run().samples == 6);
  CHECK(foreign.stored().x == range(18));
  CHECK(foreign.stored().y == std::vector<double>{0, 1, 2, 3, 0, 1});
}

TEST_CASE("a foreign HDF5 file that cannot be read is named, and nothing is left behind", "[data]") {
  Foreign foreign;
  const std::string file = foreign.file.string();
  const std::string images = "dataset images of " + file;
  const auto guard = hdf5::lock();
  std::string wanted;
  SECTION("missing") {
    std::filesystem::remove(foreign.file);
    wanted = "66: cannot open " + file + ": no such file";
  }
  SECTION("no HDF5 file") {
    test::write_bytes(foreign.file, "hello");
    wanted = "65: cannot open " + file + " as an HDF5 file";
  }
  SECTION("no such dataset") {
    foreign.options["x"] = {"image"};
    wanted = "65: " + file + " has no dataset image, did you mean images?; in its root are: images, meta";
  }
  SECTION("a group") {
    foreign.options["x"] = {"meta"};
    wanted = "65: meta in " + file + " is a group, no dataset; in it are: labels";
  }
  SECTION("the root") {
    foreign.options["x"] = {"/"};
    wanted = "65: / in " + file + " is a group, no dataset; in it are: images, meta";
  }
  SECTION("below a dataset") {
    foreign.options["x"] = {"images/a"};
    wanted = "65: images in " + file + " is a dataset, no group";
  }
  SECTION("a soft link to nothing") {
    test::edit_file(foreign.file, [](const hdf5::File& opened) {
      H5Lcreate_soft("/gone/x", opened.get(), "soft", H5P_DEFAULT, H5P_DEFAULT);
    });
    foreign.options["x"] = {"soft"};
    wanted = "65: soft in " + file + " is a soft link to /gone/x, which is not there";
  }
  SECTION("an external link to a missing file") {
    test::edit_file(foreign.file, [](const hdf5::File& opened) {
      H5Lcreate_external("gone.h5", "/x", opened.get(), "outside", H5P_DEFAULT, H5P_DEFAULT);
    });
    foreign.options["x"] = {"outside/x"};
    wanted =
        "65: outside in " + file + " is an external link to /x in gone.h5, which cannot be found from here";
  }
  SECTION("a named type") {
    test::edit_file(foreign.file, [](const hdf5::File& opened) {
      const hdf5::Datatype type(H5Tcopy(H5T_STD_I32LE));
      H5Tcommit2(opened.get(), "type", type.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    });
    foreign.options["x"] = {"type"};
    wanted = "65: type in " + file + " is a named type, no dataset";
  }
  SECTION("a name that is not UTF-8") {
    foreign.options["x"] = {"caf\xe9"};
    wanted = "65: " + file + " has no dataset caf\xef\xbf\xbd; in its root are: images, meta";
  }
  SECTION("a label beyond int64") {
    const std::vector<std::uint64_t> labels = {0, 1, 9223372036854775808u, 1};
    Foreign::write(foreign.file, {H5T_IEEE_F32LE, {4, 3}}, {H5T_STD_U64LE, {4}});
    test::overwrite(foreign.file, "meta/labels", H5T_NATIVE_UINT64, labels);
    wanted = "65: dataset meta/labels of " + file +
             " has label 9223372036854775808 in row 2, wanted a class number";
  }
  SECTION("nothing on the way") {
    foreign.options["x"] = {"a/b"};
    wanted = "65: " + file + " has no dataset a/b";
  }
  SECTION("strings") {
    const hdf5::Datatype text(H5Tcopy(H5T_C_S1));
    foreign.x_is(text.get());
    wanted = "65: " + images + " holds text (strings), wanted plain numbers";
  }
  SECTION("records") {
    const hdf5::Datatype record(H5Tcreate(H5T_COMPOUND, 8));
    H5Tinsert(record.get(), "a", 0, H5T_IEEE_F32LE);
    H5Tinsert(record.get(), "b", 4, H5T_IEEE_F32LE);
    foreign.x_is(record.get());
    wanted = "65: " + images + " holds a compound type (records with fields), wanted plain numbers";
  }
  SECTION("a virtual dataset whose source is missing") {
    std::filesystem::remove(foreign.file);
    const hdf5::File opened = create(foreign.file);
    add_dataset(opened, "meta/labels", {H5T_STD_I32LE, {4}});
    const hsize_t extent[] = {4, 3};
    const hdf5::Dataspace space(H5Screate_simple(2, extent, nullptr));
    const hdf5::PropertyList creation(H5Pcreate(H5P_DATASET_CREATE));
    REQUIRE(H5Pset_virtual(creation.get(), space.get(), "gone.h5", "x", space.get()) >= 0);
    const hdf5::Dataset dataset(H5Dcreate2(opened.get(), "images", H5T_IEEE_F32LE, space.get(), H5P_DEFAULT,
                                           creation.get(), H5P_DEFAULT));
    wanted = "65: " + images +
             " is a virtual dataset, which HDF5 reads as zeros where a source is missing, and "
             "gone.h5 is missing";
  }
  SECTION("fewer labels") {
    Foreign::write(foreign.file, {H5T_IEEE_F32LE, {4, 3}}, {H5T_STD_I32LE, {3}});
    wanted = "65: " + images + " has 4 rows, but dataset meta/labels of " + file + " has 3";
  }
  SECTION("a second file of another shape") {
    const std::filesystem::path more = foreign.folder / "more.h5";
    Foreign::write(more, {H5T_IEEE_F32LE, {2, 4}}, {H5T_STD_I32LE, {2}});
    foreign.options["file"].push_back(more.string());
    wanted = "65: " + images + " has rows of 3 of float32, but dataset images of " + more.string() +
             " has rows of 4 of float32";
  }
  SECTION("a label beyond the classes") {
    foreign.target.classes = 3;
    wanted = "65: dataset meta/labels of " + file + " has label 3 in row 3, wanted 0 to 2";
  }
  SECTION("samples of another shape than the training split's") {
    foreign.target.like = "train";
    foreign.target.like_shape = {5};
    wanted = "65: samples are 3, but those in train are 5: both splits need the same shape";
  }
  REQUIRE_FALSE(wanted.empty());
  CHECK_THAT(foreign.error(), Catch::StartsWith(wanted));
}

TEST_CASE("the binary version of CIFAR-10", "[data]") {
  const test::TemporaryFolder folder;
  data::ImportTarget target;
  target.out = folder / "out/train";
  const std::filesystem::path one = folder / "one.bin";
  const std::filesystem::path two = folder / "two.bin";
  const auto record = [](int label) {
    std::string bytes(1, static_cast<char>(label));
    for (int i = 0; i < 3072; ++i) bytes += static_cast<char>((i + label) % 251);
    return bytes;
  };
  test::write_bytes(one, record(7) + record(0));
  test::write_bytes(two, record(3));
  const Options options = {{"file", {one.string(), two.string()}}};
  SECTION("records of all files") {
    const data::Imported result = import("cifar", options, target);
    CHECK(result.samples == 3);
    CHECK(result.classes == 10);
    CHECK(result.sample_shape == std::vector<std::int64_t>{3, 32, 32});
    const test::Stored stored = test::stored_in(target.out);
    CHECK(stored.y == std::vector<double>{7, 0, 3});
    CHECK(stored.x.at(0) == 7);
    CHECK(stored.x.at(3072 + 250) == 250);
    CHECK(stored.x.at(2 * 3072 + 3071) == (3071 + 3) % 251);
  }
  SECTION("a file of another size") {
    test::write_bytes(two, record(3) + "x");
    CHECK_THAT(import_error("cifar", options, target),
               Catch::StartsWith("65: " + two.string() + " has 3074 bytes, wanted a multiple of 3073"));
  }
  SECTION("a label that is none") {
    test::write_bytes(two, record(10));
    CHECK_THAT(import_error("cifar", options, target),
               Catch::StartsWith("65: " + two.string() + " has label 10 in row 0, wanted 0 to 9"));
  }
  SECTION("a missing file") {
    std::filesystem::remove(two);
    CHECK_THAT(import_error("cifar", options, target), Catch::StartsWith("66: cannot open " + two.string()));
  }
}
