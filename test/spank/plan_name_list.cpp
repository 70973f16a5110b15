#include "plan/name_list.h"

#include <catch2/catch.hpp>

using lockstep::spank::NameList;

TEST_CASE("names are matched by prefix, or in full after an equals sign", "[plan]") {
  CHECK(NameList("eth").selects("eth0"));
  CHECK_FALSE(NameList("=eth").selects("eth0"));
  CHECK(NameList("=eth0,ib0").selects("ib0"));
  CHECK(NameList("mlx5_1").selects("mlx5_10"));
  CHECK_FALSE(NameList("=mlx5_1").selects("mlx5_10"));
}

TEST_CASE("a caret turns the list round", "[plan]") {
  CHECK(NameList("^docker,lo").selects("eth0"));
  CHECK_FALSE(NameList("^docker,lo").selects("docker0"));
  CHECK(NameList("^=docker").selects("docker0"));
  CHECK_FALSE(NameList("^").selects("eth0"));
}

TEST_CASE("a port is compared where both sides have one", "[plan]") {
  CHECK(NameList("=mlx5_0:1").selects("mlx5_0", 1));
  CHECK_FALSE(NameList("=mlx5_0:1").selects("mlx5_0", 2));
  CHECK(NameList("=mlx5_0").selects("mlx5_0", 2));
  CHECK(NameList("=mlx5_0:2").selects("mlx5_0"));
  CHECK_FALSE(NameList("=mlx5_0:x").selects("mlx5_0", 1));
  CHECK(NameList("=mlx5_0:1:2").selects("mlx5_0", 1));
}

TEST_CASE("an empty list selects everything", "[plan]") {
  CHECK(NameList("").selects("eth0"));
  CHECK(NameList("=").selects("eth0"));
  CHECK(NameList(",,").selects("eth0"));
}
