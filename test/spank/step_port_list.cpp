#include "step/port_list.h"

#include <catch2/catch.hpp>
#include <string>

using lockstep::spank::parse_port_list;

TEST_CASE("port lists with ranges are read in their order", "[port_list]") {
  CHECK(parse_port_list("41000") == std::vector<int>{41000});
  CHECK(parse_port_list("20029-20031") == std::vector<int>{20029, 20030, 20031});
  CHECK(parse_port_list("20028-20029,20127") == std::vector<int>{20028, 20029, 20127});
  CHECK(parse_port_list("41043,41000-41002") == std::vector<int>{41043, 41000, 41001, 41002});
  CHECK(parse_port_list("1,65535") == std::vector<int>{1, 65535});
  CHECK(parse_port_list("00080") == std::vector<int>{80});
}

TEST_CASE("a port that is listed twice counts once", "[port_list]") {
  CHECK(parse_port_list("5-7,6-8,5") == std::vector<int>{5, 6, 7, 8});
  CHECK(parse_port_list("1-65535,1-65535")->size() == 65535);
}

TEST_CASE("a port list cannot take time without bound", "[port_list]") {
  std::string again = "1-65535";
  for (int i = 0; i < 1000; ++i) again += ",1-65535";
  CHECK_FALSE(parse_port_list(again));
}

TEST_CASE("what is no port list is none", "[port_list]") {
  for (const char* text : {"",     ",",   "1,", ",1",   "1,,2", "0",    "65536", "1-65536",
                           "0-3",  "3-1", "1-", "-1",   "-",    "1--2", "1-2-3", "1-+2",
                           "+1",   " 1",  "1 ", "1, 2", "a",    "1x",   "0x10",  "99999999999999999999",
                           "[1-2]"}) {
    INFO(text);
    CHECK_FALSE(parse_port_list(text));
  }
  CHECK_FALSE(parse_port_list(std::string((1 << 20) + 1, '1')));
}
