#include "step/environment.h"

#include <catch2/catch.hpp>
#include <stdexcept>

using namespace lockstep::spank;

TEST_CASE("an environment is read as getenv reads it", "[step]") {
  const char* const entries[] = {"A=1", "B=", "no equals sign", "A=2", "C=x=y", "=odd", nullptr};
  const Environment environment = environment_of(entries);
  CHECK(environment == Environment{{"A", "1"}, {"B", ""}, {"C", "x=y"}, {"", "odd"}});
  CHECK(environment_of(nullptr).empty());
}

TEST_CASE("an environment beyond 8 MiB is refused as a whole", "[step]") {
  const std::string large = "A=" + std::string((std::size_t{8} << 20) - 2 - sizeof(char*), 'x');
  const std::string larger = large + "x";
  const char* const fits[] = {large.c_str(), nullptr};
  const char* const too_large[] = {larger.c_str(), nullptr};
  CHECK(environment_of(fits).size() == 1);
  CHECK_THROWS_AS(environment_of(too_large), std::runtime_error);
}
