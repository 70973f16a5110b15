#include "hdf5/collective.h"

#include <catch2/catch.hpp>

using lockstep::hdf5::no_collective_cause;

TEST_CASE("why a transfer was not collective, in words", "[hdf5]") {
  CHECK(no_collective_cause(0).empty());
  CHECK(no_collective_cause(H5D_MPIO_DATATYPE_CONVERSION) == "memory and file have different types");
  CHECK(no_collective_cause(H5D_MPIO_SET_INDEPENDENT | H5D_MPIO_DATATYPE_CONVERSION) ==
        "independent transfer was asked for, memory and file have different types");
  CHECK(no_collective_cause(0x4000) == "unknown cause 0x4000");
}
