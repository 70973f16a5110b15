#include "hdf5/collective.h"

#include <catch2/catch.hpp>

#include "comm/agreement.h"
#include "core/error.h"
#include "hdf5/structure.h"
#include "ranks.h"
#include "shared_folder.h"

using namespace lockstep;

TEST_CASE("a transfer that would not stay collective is an error that names the cause", "[hdf5]") {
  comm::MpiGroup comm(MPI_COMM_WORLD);
  const SharedFolder folder(comm);
  const auto agree = [&](std::string_view what, const std::function<void()>& work) {
    comm::agree(comm, what, work);
  };
  const std::string path = (folder.path() / "x.h5").string();
  const std::vector<hsize_t> shape = {static_cast<hsize_t>(comm.size())};
  if (comm.rank() == 0) {
    const hdf5::File created = hdf5::create_structure(path, 0);
    hdf5::create_dataset(created, "group/x", H5T_IEEE_F32LE, shape);
  }
  comm.barrier();
  CHECK_THROWS_WITH(hdf5::CollectiveFile(comm.native(), agree, path + ".absent"), Catch::Contains("absent"));
  hdf5::CollectiveFile file(comm.native(), agree, path);
  {
    const hdf5::Dataset floats = file.open("group/x");
    const double value = 1.0;  // another type than the file's: HDF5 would convert, each rank on its own
    const hdf5::Slab slab{static_cast<hsize_t>(comm.rank()), 1, &value};
    CHECK_THROWS_WITH(file.write(floats, "group/x", H5T_IEEE_F64LE, slab),
                      Catch::Contains("did not stay collective") && Catch::Contains("different types"));
    const float fits = 1.0f;
    file.write(floats, "group/x", H5T_IEEE_F32LE, {static_cast<hsize_t>(comm.rank()), 1, &fits});
    CHECK(file.transfers() == 1);
    CHECK(file.bytes_written() == 4);
  }
  CHECK_THROWS_WITH(file.open("group/y"), Catch::Contains("group/y"));
  file.flush();
  file.close();
}
