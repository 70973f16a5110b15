#include "data/dataset.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "data/row_reader.h"
#include "data/verify.h"
#include "data_fixture.h"

using namespace lockstep;
using data::Dataset;
using test::ShardSpec;
using test::TemporaryFolder;

namespace {

std::string open_error(const TemporaryFolder& folder) {
  return test::error_of([&] { Dataset::open(folder.path()); });
}

ShardSpec with_rows(std::int64_t rows) {
  ShardSpec spec;
  spec.rows = rows;
  return spec;
}

}  // namespace

TEST_CASE("a split is described by its shards", "[data]") {
  const TemporaryFolder folder;
  ShardSpec spec;
  spec.attributes["scale"] = 0.25;
  spec.attributes["std"] = 2;
  test::write_shards(folder.path(), {1000, 1, 0, 17}, spec);
  std::ofstream(folder / "notes.txt") << "not a shard";
  std::ofstream(folder / ".hidden.h5") << "not a shard";
  const Dataset dataset = Dataset::open(folder.path());
  CHECK(dataset.size() == 1018);
  CHECK(dataset.classes() == 10);
  CHECK(dataset.sample_shape() == std::vector<std::int64_t>{2, 3});
  CHECK(dataset.normalisation() == data::Normalisation{0.25, {0}, {2}});
  CHECK(dataset.bytes() == 1018 * 7);
  REQUIRE(dataset.shards().size() == 4);
  CHECK(dataset.shards()[3].first_id == 1001);
  CHECK(dataset.shard_of(999).file == folder / "00.h5");
  CHECK(dataset.shard_of(1000).file == folder / "01.h5");
  CHECK(dataset.shard_of(1001).file == folder / "03.h5");
}

TEST_CASE("without attributes the labels say how many classes there are", "[data]") {
  const TemporaryFolder folder;
  ShardSpec spec;
  spec.attributes.clear();
  spec.label = [](std::int64_t id) { return id == 30 ? 6 : id % 3; };
  test::write_shards(folder.path(), {20, 20}, spec);
  const Dataset dataset = Dataset::open(folder.path());
  CHECK(dataset.classes() == 7);
  CHECK(dataset.normalisation() == data::Normalisation{});
  CHECK(data::class_counts(dataset) == std::vector<std::int64_t>{13, 13, 13, 0, 0, 0, 1});
}

TEST_CASE("samples without dimensions are single numbers", "[data]") {
  const TemporaryFolder folder;
  ShardSpec spec;
  spec.sample_shape = {};
  test::write_shards(folder.path(), {5}, spec);
  CHECK(Dataset::open(folder.path()).sample_elements() == 1);
}

TEST_CASE("blocks are whole chunks near 64 rows", "[data]") {
  struct Case {
    std::int64_t chunk, block;
  };
  const auto [chunk, block] =
      GENERATE(Case{0, 64}, Case{1, 64}, Case{20, 60}, Case{64, 64}, Case{100, 100}, Case{45, 45});
  const TemporaryFolder folder;
  ShardSpec spec;
  spec.chunk_rows = chunk;
  test::write_shards(folder.path(), {130, 0, 1}, spec);
  const Dataset dataset = Dataset::open(folder.path());
  CAPTURE(chunk);
  CHECK(dataset.block_rows(dataset.shards()[0]) == block);
  std::int64_t next = 0;
  for (const data::Block& cut : dataset.blocks()) {
    CHECK(cut.first_id == next);
    CHECK(cut.rows > 0);
    next += cut.rows;
  }
  CHECK(next == 131);
}

TEST_CASE("the fingerprint follows the content, not the place", "[data]") {
  const auto fingerprint = [](ShardSpec spec, const std::vector<std::int64_t>& rows = {100, 28}) {
    const TemporaryFolder folder;
    test::write_shards(folder.path(), rows, std::move(spec));
    return Dataset::open(folder.path()).fingerprint();
  };
  const auto base = fingerprint({});
  CHECK(fingerprint({}) == base);
  ShardSpec compressed;
  compressed.chunk_rows = 64;
  compressed.gzip = 1;
  CHECK(fingerprint(compressed) == base);
  CHECK(fingerprint({}, {28, 100}) != base);
  ShardSpec rechunked;
  rechunked.chunk_rows = 50;
  CHECK(fingerprint(rechunked) != base);
  ShardSpec values;
  values.first_id = 1;
  CHECK(fingerprint(values) != base);
  ShardSpec labels;
  labels.label = [](std::int64_t id) { return (id + 1) % 10; };
  CHECK(fingerprint(labels) != base);
  ShardSpec scaled;
  scaled.attributes["scale"] = 2;
  CHECK(fingerprint(scaled) != base);
}

TEST_CASE("samples behind an external link are those of the other file", "[data]") {
  const TemporaryFolder folder;
  ShardSpec spec = with_rows(20);
  test::write_shard(folder / "elsewhere/other.h5", spec);
  spec.first_id = 500;
  test::write_shard(folder / "00.h5", spec);
  test::edit_file(folder / "00.h5", [&](const hdf5::File& file) {
    H5Ldelete(file.get(), "x", H5P_DEFAULT);
    H5Lcreate_external("elsewhere/other.h5", "/x", file.get(), "x", H5P_DEFAULT, H5P_DEFAULT);
  });
  const Dataset dataset = Dataset::open(folder.path());
  data::RowReader reader(dataset);
  data::RawRows rows;
  reader.resize(rows, 20);
  reader.read(0, 20, rows, 0);
  for (std::int64_t i = 0; i < 20; ++i) {
    CHECK(static_cast<std::int64_t>(rows.x[static_cast<std::size_t>(6 * i)]) == test::stored_value(i, 0));
  }
  std::filesystem::remove(folder / "elsewhere/other.h5");
  CHECK_THAT(open_error(folder), Catch::StartsWith("65: x in " + (folder / "00.h5").string() +
                                                   " is an external link to /x in elsewhere/other.h5"));
}

TEST_CASE("folders that hold no split", "[data]") {
  const TemporaryFolder folder;
  CHECK_THAT(test::error_of([&] { Dataset::open(folder / "none"); }),
             Catch::StartsWith("66: cannot open dataset " + (folder / "none").string() + ": no such folder"));
  CHECK_THAT(open_error(folder),
             Catch::StartsWith("66: dataset " + folder.path().string() + " has no *.h5 file"));
  test::write_shards(folder.path(), {0, 0});
  CHECK_THAT(open_error(folder), Catch::EndsWith("has no sample: its 2 shards are empty"));
}

TEST_CASE("files that are not shards are named with what is wrong", "[data]") {
  const TemporaryFolder folder;
  const auto path = folder / "a.h5";
  ShardSpec spec = with_rows(4);
  std::string wanted;
  SECTION("text") {
    std::ofstream(path) << "hello";
    wanted = "cannot open " + path.string() + " as an HDF5 file";
  }
  SECTION("cut off") {
    spec.rows = 1000;
    test::write_shard(path, spec);
    std::filesystem::resize_file(path, 3000);
    wanted = "cannot open " + path.string() + " as an HDF5 file";
  }
  SECTION("no y") {
    test::write_shard(path, spec);
    test::edit_file(path, [](const hdf5::File& file) { H5Ldelete(file.get(), "y", H5P_DEFAULT); });
    wanted = path.string() + " has no dataset y";
  }
  SECTION("x is a group") {
    test::write_shard(path, spec);
    test::edit_file(path, [](const hdf5::File& file) {
      H5Ldelete(file.get(), "x", H5P_DEFAULT);
      hdf5::Group(H5Gcreate2(file.get(), "x", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    });
    wanted = "x in " + path.string() + " is a group, no dataset";
  }
  SECTION("rows differ") {
    spec.chunk_rows = 4;
    test::write_shard(path, spec);
    test::edit_file(path, [](const hdf5::File& file) {
      const hdf5::Dataset y(H5Dopen2(file.get(), "y", H5P_DEFAULT));
      const hsize_t rows = 3;
      H5Dset_extent(y.get(), &rows);
    });
    wanted = path.string() + " has 4 rows in x and 3 in y";
  }
  SECTION("samples of a type that a float cannot hold") {
    spec.x_type = H5T_STD_I64LE;
    test::write_shard(path, spec);
    wanted = "dataset x of " + path.string() + " has type int64, whose values need not fit a float32";
  }
  SECTION("samples without a number") {
    spec.sample_shape = {3, 0};
    test::write_shard(path, spec);
    wanted = "dataset x of " + path.string() + " has samples of shape 3x0";
  }
  SECTION("another format") {
    spec.attributes["lockstep_format"] = 2;
    test::write_shard(path, spec);
    wanted = path.string() + " has lockstep_format 2, this program reads 1";
  }
  SECTION("no spread") {
    spec.attributes["std"] = 0;
    test::write_shard(path, spec);
    wanted = path.string() + " has scale 1, mean 0, std 0; wanted finite numbers and std > 0";
  }
  SECTION("classes that are no count") {
    spec.attributes["classes"] = 2.5;
    test::write_shard(path, spec);
    wanted = "attribute classes of " + path.string() + " is 2.5, wanted a whole number";
  }
  SECTION("an attribute that is no number") {
    spec.attributes.erase("classes");
    test::write_shard(path, spec);
    test::edit_file(path, [](const hdf5::File& file) {
      const hdf5::Datatype text(H5Tcopy(H5T_C_S1));
      const hdf5::Dataspace space(H5Screate(H5S_SCALAR));
      hdf5::Attribute(H5Acreate2(file.get(), "classes", text.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT));
    });
    wanted = "attribute classes of " + path.string() + " is not a number";
  }
  REQUIRE_FALSE(wanted.empty());
  CHECK_THAT(open_error(folder), Catch::StartsWith("65: " + wanted));
}

TEST_CASE("shards that disagree are named, both of them", "[data]") {
  const TemporaryFolder folder;
  test::write_shard(folder / "a.h5", with_rows(4));
  ShardSpec other = with_rows(4);
  std::string wanted;
  SECTION("shape") {
    other.sample_shape = {6};
    wanted = "samples of shape 6, but A has 2x3";
  }
  SECTION("type") {
    other.x_type = H5T_STD_I8LE;
    wanted = "samples of type int8, but A has uint8";
  }
  SECTION("normalisation") {
    other.attributes["mean"] = 1;
    wanted = "normalisation (scale 1, mean 1, std 1), but A has (scale 1, mean 0, std 1)";
  }
  SECTION("classes") {
    other.attributes["classes"] = 11;
    wanted = "classes 11, but A has 10";
  }
  test::write_shard(folder / "b.h5", other);
  wanted.replace(wanted.find(" A "), 3, " " + (folder / "a.h5").string() + " ");
  CHECK_THAT(open_error(folder), Catch::StartsWith("65: " + (folder / "b.h5").string() + " has " + wanted));
}

TEST_CASE("a file that another process writes to can be read", "[data]") {
  const TemporaryFolder folder;
  test::write_shards(folder.path(), {4});
  // HDF5 of a writer holds such a lock.
  const int descriptor = ::open((folder / "00.h5").c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(::flock(descriptor, LOCK_EX | LOCK_NB) == 0);
  CHECK(Dataset::open(folder.path()).size() == 4);
  ::close(descriptor);
}

TEST_CASE("verify finds every fault", "[data]") {
  const TemporaryFolder folder;
  ShardSpec spec;
  test::write_shards(folder.path(), {100, 0, 50}, spec);
  const data::Verified good = data::verify(folder.path());
  CHECK(good.faults.empty());
  CHECK(good.samples == 150);
  CHECK(good.shards == 3);

  spec.label = [](std::int64_t id) { return id == 7 ? 10 : id == 120 ? 255 : 1; };
  test::write_shards(folder.path(), {100, 0, 50}, spec);
  std::ofstream(folder / "99.h5") << "no shard";
  const data::Verified bad = data::verify(folder.path());
  REQUIRE(bad.faults.size() == 3);
  CHECK_THAT(bad.faults[0], Catch::StartsWith("cannot open " + (folder / "99.h5").string()));
  CHECK_THAT(bad.faults[1],
             Catch::StartsWith("row 7 of dataset y of " + (folder / "00.h5").string() + " has label 10"));
  CHECK_THAT(bad.faults[2],
             Catch::StartsWith("row 20 of dataset y of " + (folder / "02.h5").string() + " has label 255"));
}
