#include "topology/switch_path.h"

#include <catch2/catch.hpp>

using namespace lockstep::spank;

TEST_CASE("the path has the levels above the node, from the top", "[topology]") {
  CHECK(switch_path("root.s0.n1", "switch.switch.node") == "root/s0");
  CHECK(switch_path("b07.n1", "block.node") == "b07");
}

TEST_CASE("dots in a node's name and lists of switches do not shift the levels", "[topology]") {
  CHECK(switch_path("root.s0.n1.cluster.example", "switch.switch.node") == "root/s0");
  CHECK(switch_path("top.s[0,4-8].n1", "switch.switch.node") == "top/s[0,4-8]");
  CHECK(switch_path("top.s[0.1,4].n1", "switch.switch.node") == "top/s[0.1,4]");
}

TEST_CASE("without a level above the node, or with another form, there is no path", "[topology]") {
  CHECK(switch_path("n1", "node").empty());
  CHECK(switch_path("", "").empty());
  CHECK(switch_path("n1", "switch.node").empty());
  CHECK(switch_path("s0.", "switch.node").empty());
  CHECK(switch_path(".n1", "switch.node").empty());
  CHECK(switch_path("s0.n1", "switch.gpu").empty());
  CHECK(switch_path("s 0.n1", "switch.node").empty());
  CHECK(switch_path("a/b.n1", "switch.node").empty());
  CHECK(switch_path("s[0.n1", "switch.node").empty());
}
