#include "core/cpu_set.h"

#include <catch2/catch.hpp>
#include <string>

using namespace lockstep;

TEST_CASE("lists and maps of the same CPUs are equal", "[topology]") {
  CHECK(parse_cpu_list("0-23,96-119\n") == parse_cpu_map("00ffffff,00000000,00000000,00ffffff"));
  CHECK(parse_cpu_list("5") == parse_cpu_map("20"));
  CHECK(parse_cpu_list("")->none());
  CHECK(parse_cpu_map("0")->none());
  CHECK(parse_cpu_list("0-8191")->all());
}

TEST_CASE("what is no list or map of CPUs gives nothing", "[topology]") {
  for (const char* list : {"a", "3-1", "-1", "0-8192", "1,,2", "0-99999999999999999999"}) {
    CAPTURE(list);
    CHECK_FALSE(parse_cpu_list(list));
  }
  for (const char* map : {"", "0xff", "fffffffff", "ff,,ff", "g", "-1"}) {
    CAPTURE(map);
    CHECK_FALSE(parse_cpu_map(map));
  }
  std::string groups = "1";
  for (int i = 0; i < 255; ++i) groups += ",00000000";
  CHECK(parse_cpu_map(groups)->test(8160));
  CHECK_FALSE(parse_cpu_map(groups + ",0"));
}
