#include "machine/names.h"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace lockstep::spank;
using Strings = std::vector<std::string>;

TEST_CASE("numbers in names compare by value", "[machine]") {
  Strings names = {"ib10",   "ib2", "ib1",  "mlx5_bond_0", "mlx5_10",
                   "mlx5_9", "eth", "eth0", "en1p2",       "en1p10"};
  std::sort(names.begin(), names.end(), natural_less);
  CHECK(names ==
        Strings{"en1p2", "en1p10", "eth", "eth0", "ib1", "ib2", "ib10", "mlx5_9", "mlx5_10", "mlx5_bond_0"});
}

TEST_CASE("names that differ in leading zeros alone have an order", "[machine]") {
  CHECK(natural_less("eth01", "eth1"));
  CHECK_FALSE(natural_less("eth1", "eth01"));
  CHECK_FALSE(natural_less("eth1", "eth1"));
  CHECK(natural_less("a99999999999999999999999", "a100000000000000000000000"));
}

TEST_CASE("bus ids are found in a path", "[machine]") {
  CHECK(bus_ids_in("sys/devices/pci0000:15/0000:15:01.0/0000:17:00.0/net/ib0") ==
        Strings{"0000:15:01.0", "0000:17:00.0"});
  CHECK(bus_ids_in("sys/devices/pci10000:00/10000:e1:00.7") == Strings{"10000:e1:00.7"});
  CHECK(bus_ids_in("sys/devices/virtual/net/lo").empty());
  for (const char* wrong :
       {"", "0000:17:00", "000:17:00.0", "0000:17:00.00", "0000:1g:00.0", "0000:17:0.00"}) {
    CHECK_FALSE(is_bus_id(wrong));
  }
}
