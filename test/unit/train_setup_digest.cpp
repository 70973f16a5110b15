#include "train/setup_digest.h"

#include <catch2/catch.hpp>

using lockstep::train::NcclSetup;
using lockstep::train::setup_differences;
using Lines = std::vector<std::string>;

namespace {

constexpr const char* usual = "v1 plugin=01 config=02 rendezvous=03 nccl=04 driver=05";

Lines lines_for(const std::string& other) {
  return setup_differences(std::vector<NcclSetup>{{"n1", usual}, {"n1", usual}, {"n3", other}});
}

}  // namespace

TEST_CASE("equal set-ups are not worth a word, nor is no plugin at all", "[train]") {
  CHECK(lines_for(usual).empty());
  CHECK(setup_differences(std::vector<NcclSetup>{{"n1", ""}, {"n2", ""}}).empty());
  CHECK(setup_differences({}).empty());
}

TEST_CASE("a set-up that differs is named by node, part and remedy", "[train]") {
  CHECK(lines_for("v1 plugin=01 config=ff rendezvous=03 nccl=04 driver=05") ==
        Lines{"rank 2 on n3: the plugin's configuration file differs from rank 0's on n1 (config): give all "
              "nodes "
              "the same file"});
  CHECK(lines_for("v1 plugin=01 config=02 rendezvous=ff nccl=04 driver=05") ==
        Lines{"rank 2 on n3: the rendezvous differs from rank 0's on n1 (rendezvous): let nobody but the "
              "plugin set "
              "MASTER_ADDR and MASTER_PORT, or all ranks alike"});
}

TEST_CASE("several different parts stand in one line, each remedy once", "[train]") {
  CHECK(
      lines_for("v1 driver=ff plugin=ff config=02 rendezvous=03 nccl=ff") ==
      Lines{
          "rank 2 on n3: the plugin itself and a setting of NCCL and the NVIDIA driver differ from rank 0's "
          "on "
          "n1 (plugin, nccl, driver): install the same version on all nodes; compare `nccl-setup explain` on "
          "both nodes"});
}

TEST_CASE("a part that one digest lacks differs", "[train]") {
  REQUIRE(lines_for("v1 plugin=01 config=02 rendezvous=03 nccl=04").size() == 1);
  CHECK_THAT(lines_for("v1 plugin=01 config=02 rendezvous=03 nccl=04")[0], Catch::Contains("(driver)"));
}

TEST_CASE("digests of another form come from another plugin", "[train]") {
  for (const char* other :
       {"v2 plugin=01 config=ff", "v1 plugin=01 config=02 rendezvous=03 nccl=04 driver=05 new=06", "  ", "=",
        "nonsense"}) {
    INFO(other);
    CHECK(lines_for(other) ==
          Lines{"rank 2 on n3: the plugin itself differs from rank 0's on n1 (plugin): install "
                "the same version on all nodes"});
  }
}

TEST_CASE("a node without the plugin is named, whichever it is", "[train]") {
  CHECK(lines_for("") ==
        Lines{"rank 2 on n3: the SPANK plugin has set up NCCL on n1 and not on n3: start all tasks "
              "by srun, with the plugin installed and switched on everywhere"});
  const auto lines = setup_differences(std::vector<NcclSetup>{{"n1", ""}, {"n2", usual}});
  REQUIRE(lines.size() == 1);
  CHECK_THAT(lines[0],
             Catch::StartsWith("rank 1 on n2: the SPANK plugin has set up NCCL on n2 and not on n1"));
}

TEST_CASE("each node is told once, four of them, and the others are counted", "[train]") {
  std::vector<NcclSetup> setups = {{"n0", usual}};
  const auto add_node = [&] {
    const std::string node = "n" + std::to_string(setups.size());
    setups.push_back({node, "v1"});
    setups.push_back({node, "v1"});
  };
  for (int node = 0; node < 4; ++node) add_node();
  CHECK(setup_differences(setups).size() == 4);
  add_node();
  REQUIRE(setup_differences(setups).size() == 5);
  CHECK_THAT(setup_differences(setups)[1], Catch::StartsWith("rank 3 on n3: "));
  CHECK(setup_differences(setups)[4] == "and 1 more node differs from rank 0's n0 in how NCCL is set up");
  add_node();
  CHECK(setup_differences(setups)[4] == "and 2 more nodes differ from rank 0's n0 in how NCCL is set up");
}
