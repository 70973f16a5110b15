// What other people's files may be: each kind is refused with file, dataset, value seen, value wanted, way
// out.
#include <catch2/catch.hpp>
#include <fstream>

#include "data/dataset.h"
#include "data_fixture.h"

using namespace lockstep;
using test::ShardSpec;
using test::TemporaryFolder;

namespace {

class Damaged {
 public:
  Damaged() {
    spec.rows = 4;
    spec.sample_shape = {6};
  }

  std::filesystem::path path() const { return folder / "a.h5"; }
  void write() const { test::write_shard(path(), spec); }
  std::string error() const {
    return test::error_of([&] { data::Dataset::open(folder.path()); });
  }

  // A dataset of another type or storage in place of the one that is there; nothing is written to it.
  void replace(const std::string& name, hid_t type, const std::vector<hsize_t>& extent,
               hid_t creation = H5P_DEFAULT) const {
    test::edit_file(path(), [&](const hdf5::File& file) {
      H5Ldelete(file.get(), name.c_str(), H5P_DEFAULT);
      const hdf5::Dataspace space(H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr));
      hdf5::own<hdf5::Dataset>(
          H5Dcreate2(file.get(), name.c_str(), type, space.get(), H5P_DEFAULT, creation, H5P_DEFAULT),
          ExitCode::internal, "make a damaged dataset");
    });
  }

  TemporaryFolder folder;
  ShardSpec spec;
};

hdf5::PropertyList creation_list() {
  return hdf5::PropertyList(H5Pcreate(H5P_DATASET_CREATE));
}

// Each part must be in the message.
void check_parts(const std::string& error, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) CHECK_THAT(error, Catch::Contains(part));
  CHECK(error.find('\n') == std::string::npos);
}

}  // namespace

TEST_CASE("types that are no numbers are named", "[data]") {
  Damaged shard;
  shard.write();
  std::string seen;
  const auto guard = hdf5::lock();
  hdf5::Datatype type;
  SECTION("strings") {
    type = hdf5::Datatype(H5Tcopy(H5T_C_S1));
    H5Tset_size(type.get(), 8);
    seen = "text (strings)";
  }
  SECTION("strings of any length") {
    type = hdf5::Datatype(H5Tcopy(H5T_C_S1));
    H5Tset_size(type.get(), H5T_VARIABLE);
    seen = "text (strings)";
  }
  SECTION("records") {
    type = hdf5::Datatype(H5Tcreate(H5T_COMPOUND, 16));
    H5Tinsert(type.get(), "a", 0, H5T_NATIVE_DOUBLE);
    H5Tinsert(type.get(), "b", 8, H5T_NATIVE_INT64);
    seen = "a compound type";
  }
  SECTION("booleans of h5py") {
    type = hdf5::Datatype(H5Tenum_create(H5T_NATIVE_INT8));
    const std::int8_t no = 0;
    const std::int8_t yes = 1;
    H5Tenum_insert(type.get(), "FALSE", &no);
    H5Tenum_insert(type.get(), "TRUE", &yes);
    seen = "an enumeration";
  }
  SECTION("lists") {
    type = hdf5::Datatype(H5Tvlen_create(H5T_NATIVE_FLOAT));
    seen = "lists of varying length";
  }
  SECTION("long doubles") {
    type = hdf5::Datatype(H5Tcopy(H5T_NATIVE_LDOUBLE));
    seen = "a type of another size";
  }
  REQUIRE_FALSE(seen.empty());
  shard.replace("y", type.get(), {4});
  check_parts(shard.error(), {"65: dataset y of " + shard.path().string() + " holds " + seen,
                              "wanted numbers: store class numbers as uint8 or int64"});
  shard.write();
  shard.replace("x", type.get(), {4, 6});
  check_parts(shard.error(),
              {"65: dataset x of " + shard.path().string() + " holds " + seen, "store uint8 or float32"});
}

TEST_CASE("shapes of y that fit neither classes nor targets", "[data]") {
  Damaged shard;
  shard.write();
  SECTION("one-hot rows of whole numbers") {
    shard.replace("y", H5T_STD_U8LE, {4, 10});
    check_parts(shard.error(), {"65: dataset y of " + shard.path().string() + " has shape [4x10], wanted [4]",
                                "one class number a row"});
  }
  SECTION("images") {
    shard.replace("y", H5T_IEEE_F32LE, {4, 2, 2});
    check_parts(shard.error(), {"dataset y of " + shard.path().string() +
                                " has shape [4x2x2], wanted [4] or [4, numbers to predict]"});
  }
  SECTION("class numbers as floats") {
    shard.spec.y_type = H5T_IEEE_F32LE;
    shard.write();
    check_parts(shard.error(),
                {"65: " + shard.path().string() + " has 10 classes, but its dataset y holds float32",
                 "store class numbers as uint8 or int64, or remove attribute classes"});
  }
}

TEST_CASE("normalisation that does not fit the samples", "[data]") {
  Damaged shard;
  shard.spec.sample_shape = {3, 2, 2};
  SECTION("two means for three channels") {
    shard.spec.lists["mean"] = {0.1, 0.2};
    shard.write();
    check_parts(shard.error(), {"65: attribute mean of " + shard.path().string() +
                                " has 2 values, wanted 1 or 3: samples are 3x2x2"});
  }
  SECTION("a list for images without channels") {
    shard.spec.sample_shape = {3, 2};
    shard.spec.lists["std"] = {1, 2, 3};
    shard.write();
    check_parts(shard.error(), {"attribute std of " + shard.path().string() + " has 3 values, wanted 1"});
  }
  SECTION("one channel without spread") {
    shard.spec.lists["std"] = {1, 0, 1};
    shard.write();
    check_parts(shard.error(),
                {shard.path().string() + " has scale 1, mean 0, std 1,0,1; wanted finite numbers"});
  }
}

TEST_CASE("data that HDF5 would read as zeros are refused", "[data]") {
  Damaged shard;
  shard.write();
  const auto guard = hdf5::lock();
  const auto creation = creation_list();
  SECTION("a virtual dataset whose source is missing") {
    const hsize_t extent[] = {4, 6};
    const hdf5::Dataspace space(H5Screate_simple(2, extent, nullptr));
    H5Pset_virtual(creation.get(), space.get(), "missing.h5", "x", space.get());
    shard.replace("x", H5T_STD_U8LE, {4, 6}, creation.get());
    check_parts(shard.error(), {"65: dataset x of " + shard.path().string() + " is a virtual dataset",
                                "missing.h5 is missing", "list the 1 source files themselves as shards"});
    std::ofstream(shard.folder / "missing.h5") << "here now";
    CHECK_THAT(shard.error(), !Catch::Contains("missing.h5"));
    CHECK_THAT(shard.error(), Catch::Contains("is a virtual dataset"));
  }
  SECTION("a dataset that was never written") {
    shard.replace("x", H5T_STD_U8LE, {4, 6});
    check_parts(shard.error(), {"65: dataset x of " + shard.path().string() + " was made but never written",
                                "all of its 4 rows as zeros"});
  }
  SECTION("chunks that were never written") {
    shard.spec.chunk_rows = 2;
    shard.spec.rows = 5;
    shard.write();
    REQUIRE(shard.error() == "no error");
    test::edit_file(shard.path(), [](const hdf5::File& file) {
      for (const char* name : {"x", "y"}) {
        const hdf5::Dataset dataset(H5Dopen2(file.get(), name, H5P_DEFAULT));
        const hsize_t extent[] = {9, 6};
        H5Dset_extent(dataset.get(), extent);
      }
    });
    check_parts(shard.error(), {"65: dataset x of " + shard.path().string() + " has only 3 of its 5 chunks",
                                "write the missing rows"});
  }
  SECTION("an external file") {
    const auto data = shard.folder / "x.raw";
    const std::string place = data.string();
    H5Pset_external(creation.get(), place.c_str(), 10, H5F_UNLIMITED);
    shard.replace("x", H5T_STD_U8LE, {4, 6}, creation.get());
    check_parts(shard.error(),
                {"65: dataset x of " + shard.path().string() + " lies in the external file " + place,
                 "cannot be found from here (No such file or directory)"});
    std::ofstream(data) << std::string(33, 'a');
    check_parts(shard.error(),
                {"65: dataset x of " + shard.path().string() + " lies in the external file " + place,
                 "has 33 bytes, wanted 34"});
    std::ofstream(data) << std::string(34, 'a');
    CHECK(shard.error() == "no error");
  }
}

TEST_CASE("a filter that is not here is named", "[data]") {
  Damaged shard;
  shard.write();
  const auto guard = hdf5::lock();
  const auto creation = creation_list();
  const hsize_t chunk[] = {4, 6};
  H5Pset_chunk(creation.get(), 2, chunk);
  H5Pset_filter(creation.get(), 32000, H5Z_FLAG_OPTIONAL, 0, nullptr);
  shard.replace("x", H5T_STD_U8LE, {4, 6}, creation.get());
  check_parts(shard.error(), {"65: dataset x of " + shard.path().string() +
                                  " is compressed with filter number 32000, which is not available here",
                              "h5repack -f NONE"});
}

TEST_CASE("shards must agree in what y is", "[data]") {
  Damaged shard;
  shard.spec.attributes = {};
  shard.write();
  ShardSpec other = shard.spec;
  other.y_type = H5T_IEEE_F64LE;
  other.target_shape = {2};
  test::write_shard(shard.folder / "b.h5", other);
  check_parts(shard.error(),
              {"65: " + (shard.folder / "b.h5").string() + " has a dataset y of 2 numbers to predict, but " +
               shard.path().string() + " has class numbers"});
}
