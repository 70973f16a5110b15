#include "core/memory_reserve.h"

#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>

using lockstep::MemoryReserve;

namespace {

rlim_t address_space() {
  long pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE));
}

}  // namespace

TEST_CASE("a reserve that is given back can be had again, once", "[core]") {
  constexpr std::size_t size = 64 << 20;
  const rlim_t before = address_space();
  MemoryReserve reserve(size);
  CHECK(address_space() >= before + size);
  reserve.give_back();
  CHECK(address_space() < before + size);
  reserve.give_back();
}
