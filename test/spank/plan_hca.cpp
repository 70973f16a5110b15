// The HCAs for data: one case per machine that profiles are shipped for, and per kind of report.
#include <catch2/catch.hpp>

#include "fake_node.h"
#include "plan/gid.h"
#include "plan/hca_choice.h"
#include "plan_fixture.h"

using namespace lockstep::spank;
using namespace lockstep::spank::test;

namespace {

constexpr const char* list = "NCCL_IB_HCA";
constexpr const char* index = "NCCL_IB_GID_INDEX";

std::string choice_on(const std::string& fixture) {
  const Plan plan = PlanFixture(fixture_machine(fixture)).plan_of(set_hcas);
  CHECK(findings(plan).empty());
  CHECK(value(plan, index) == "(not set)");
  if (plan.decisions.empty()) return "nothing";
  if (value(plan, list) == "(not set)") return "not set: " + reason(plan, list);
  CHECK("=" + value(plan, "UCX_NET_DEVICES") == value(plan, list));
  return value(plan, list) + " | " + reason(plan, list);
}

Plan gids_on(const std::string& fixture) {
  PlanFixture node(fixture_machine(fixture));
  node.profile.gid_rule = Profile::GidRule::automatic;
  return node.plan_of(set_hcas);
}

}  // namespace

TEST_CASE("the storage ports of an InfiniBand node are left out", "[plan][hca]") {
  CHECK(choice_on("plain-ib") ==
        "=mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1,mlx5_6:1,mlx5_7:1,mlx5_8:1,mlx5_9:1 | 400 Gb/s InfiniBand, "
        "beside the "
        "GPUs; not mlx5_4:1, mlx5_5:1 (100 Gb/s Ethernet)");
}

TEST_CASE("the front-end ports of a RoCE node are left out", "[plan][hca]") {
  CHECK(choice_on("roce") ==
        "=mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1,mlx5_4:1,mlx5_5:1,mlx5_6:1,mlx5_7:1 | 400 Gb/s Ethernet, "
        "beside the "
        "GPUs; not mlx5_bond_0:1 (100 Gb/s Ethernet)");
  CHECK(
      choice_on("oci-h100") ==
      "=mlx5_0:1,mlx5_1:1,mlx5_3:1,mlx5_4:1,mlx5_5:1,mlx5_6:1,mlx5_7:1,mlx5_8:1,mlx5_9:1,mlx5_10:1,mlx5_12:1,"
      "mlx5_13:1,mlx5_14:1,mlx5_15:1,mlx5_16:1,mlx5_17:1 | 200 Gb/s Ethernet, beside the GPUs; not mlx5_2:1 "
      "(100 "
      "Gb/s Ethernet), mlx5_11:1 (eth1 is down)");
}

TEST_CASE("in a virtual machine the rate alone decides", "[plan][hca]") {
  CHECK(choice_on("azure-ndv4") ==
        "=mlx5_ib0:1,mlx5_ib1:1,mlx5_ib2:1,mlx5_ib3:1,mlx5_ib4:1,mlx5_ib5:1,mlx5_ib6:1,mlx5_ib7:1 | 200 Gb/s "
        "InfiniBand; not mlx5_an0:1 (40 Gb/s Ethernet)");
  CHECK(choice_on("azure-ndv5") ==
        "=mlx5_ib0:1,mlx5_ib1:1,mlx5_ib2:1,mlx5_ib3:1,mlx5_ib4:1,mlx5_ib5:1,mlx5_ib6:1,mlx5_ib7:1 | 400 Gb/s "
        "InfiniBand; not mlx5_an0:1 (100 Gb/s Ethernet)");
}

TEST_CASE("EFA devices and nodes without HCAs get nothing", "[plan][hca]") {
  CHECK(choice_on("efa") ==
        "not set: none is for NCCL's own use: rdmap79s0:1, rdmap80s0:1 and 30 more (EFA, for libfabric)");
  CHECK(choice_on("slingshot") == "nothing");
  CHECK(choice_on("ethernet") == "nothing");
  CHECK(choice_on("workstation") == "nothing");
}

TEST_CASE("an Ethernet adapter beside InfiniBand ones is left out", "[plan][hca]") {
  CHECK(choice_on("ethernet-hca-beside-ib") ==
        "=mlx5_0:1,mlx5_1:1,mlx5_3:1,mlx5_4:1 | 100 Gb/s InfiniBand, beside the GPUs; not mlx5_2:1 (100 Gb/s "
        "Ethernet)");
}

TEST_CASE("among RoCE ports of many rates the fastest are taken", "[plan][hca]") {
  CHECK(
      choice_on("mixed-rates") ==
      "=mlx5_0:1,mlx5_3:1,mlx5_5:1,mlx5_8:1 | 400 Gb/s Ethernet; not mlx5_1:1, mlx5_2:1 and 2 more (25 Gb/s "
      "Ethernet), mlx5_4:1 (200 Gb/s Ethernet)");
}

TEST_CASE("of adapters of one rate those beside the GPUs are taken", "[plan][hca]") {
  CHECK(choice_on("far-storage-same-rate") ==
        "=mlx5_0:1,mlx5_1:1,mlx5_4:1,mlx5_5:1 | 400 Gb/s InfiniBand, beside the GPUs; not mlx5_2:1, mlx5_3:1 "
        "(400 Gb/s InfiniBand)");
}

TEST_CASE("slower adapters beside the GPUs go before faster ones elsewhere", "[plan][hca]") {
  const Machine machine = fake_machine(
      "gpu 0000:12:00.0 under=0000:10:01.0\nhca mlx5_0 pci=0000:13:00.0 under=0000:10:01.0 rate=200 "
      "device=101b\n"
      "hca mlx5_1 pci=0000:80:00.0 under=0000:7f:01.0 rate=400\n");
  CHECK(value(PlanFixture(machine).plan_of(set_hcas), list) == "=mlx5_0:1");
}

TEST_CASE("where only some GPUs have an adapter beside them, all of the fastest are taken too",
          "[plan][hca]") {
  const Machine machine = fake_machine(
      "gpu 0000:12:00.0 under=0000:10:01.0\ngpu 0000:42:00.0 under=0000:40:01.0\n"
      "hca mlx5_0 pci=0000:13:00.0 under=0000:10:01.0 rate=200\nhca mlx5_1 pci=0000:80:00.0 rate=200\n"
      "hca mlx5_2 pci=0000:81:00.0 rate=100 device=101d\n");
  const Plan plan = PlanFixture(machine).plan_of(set_hcas);
  CHECK(value(plan, list) == "=mlx5_0:1,mlx5_1:1");
  CHECK(reason(plan, list) == "200 Gb/s InfiniBand; not mlx5_2:1 (100 Gb/s InfiniBand)");
}

TEST_CASE("where only some GPUs have an adapter beside them, a slower one beside a GPU is taken too",
          "[plan][hca]") {
  const Machine machine = fake_machine(
      "gpu 0000:12:00.0 under=0000:10:01.0\ngpu 0000:42:00.0 under=0000:40:01.0\n"
      "hca mlx5_0 pci=0000:13:00.0 under=0000:10:01.0 rate=100\nhca mlx5_1 pci=0000:80:00.0 rate=200\n"
      "hca mlx5_2 pci=0000:81:00.0 rate=100 device=101d\n");
  const Plan plan = PlanFixture(machine).plan_of(set_hcas);
  CHECK(value(plan, list) == "=mlx5_0:1,mlx5_1:1");
  CHECK(reason(plan, list) == "200 Gb/s InfiniBand; not mlx5_2:1 (100 Gb/s InfiniBand)");
}

TEST_CASE("without GPUs all ports of the highest rate are taken", "[plan][hca]") {
  CHECK(choice_on("slow-eth0-beside-ib") == "=mlx5_0:1 | 100 Gb/s InfiniBand; not mlx5_1:1 (DOWN)");
  CHECK(choice_on("gids-differ") == "=mlx5_0:1,mlx5_1:1 | 100 Gb/s Ethernet");
  CHECK(choice_on("bonded-roce") == "=mlx5_bond_0:1 | 200 Gb/s Ethernet");
}

TEST_CASE("a port that is down and one that is slow are named; the slow one stays in the list",
          "[plan][hca]") {
  PlanFixture node(fixture_machine("port-down"));
  const Plan plan = node.plan_of(set_hcas);
  CHECK(value(plan, list) == "=mlx5_0:1,mlx5_1:1,mlx5_2:1");
  CHECK(reason(plan, list) ==
        "200 Gb/s InfiniBand, beside the GPUs; not mlx5_3:1, mlx5_5:1 (DOWN), mlx5_4:1 (100 Gb/s Ethernet)");
  CHECK(findings(plan) ==
        "problem: HCA port mlx5_3:1 is DOWN; its siblings run at 200 Gb/s\n"
        "advice: HCA port mlx5_2:1 runs at 100 Gb/s, its siblings at 200 Gb/s\n");
  node.step.nodes = 1;
  CHECK(findings(node.plan_of(set_hcas)).starts_with("advice: HCA port mlx5_3:1 is DOWN"));
}

TEST_CASE("a port that is down by design is not worth a word", "[plan][hca]") {
  // The second functions of two-port cards, none of them cabled.
  const std::string second_unused =
      "hca mlx5_0 pci=0000:13:00.0 rate=200\nhca mlx5_1 pci=0000:13:00.1 rate=200 state=DOWN\n"
      "hca mlx5_2 pci=0000:23:00.0 rate=200\nhca mlx5_3 pci=0000:23:00.1 rate=200 state=INIT\n";
  Plan plan = PlanFixture(fake_machine(second_unused)).plan_of(set_hcas);
  CHECK(value(plan, list) == "=mlx5_0:1,mlx5_2:1");
  CHECK(findings(plan).empty());
  // One of them is cabled: then the other should be.
  const std::string one_used = second_unused + "hca mlx5_4 pci=0000:33:00.1 rate=200\n";
  CHECK(findings(PlanFixture(fake_machine(one_used)).plan_of(set_hcas)) ==
        "problem: HCA port mlx5_1:1 is DOWN; its siblings run at 200 Gb/s\n"
        "problem: HCA port mlx5_3:1 is INIT; its siblings run at 200 Gb/s\n");
}

TEST_CASE("a slow port of the same model is left out where no bridge tells what it is for", "[plan][hca]") {
  const Plan plan = PlanFixture(fake_machine("hca mlx5_0 pci=0000:13:00.0 rate=400\n"
                                             "hca mlx5_1 pci=0000:23:00.0 rate=200\n"))
                        .plan_of(set_hcas);
  CHECK(value(plan, list) == "=mlx5_0:1");
  CHECK(findings(plan) == "advice: HCA port mlx5_1:1 runs at 200 Gb/s, its siblings at 400 Gb/s\n");
}

TEST_CASE("InfiniBand of which nothing works is a problem of a step on several nodes", "[plan][hca]") {
  PlanFixture node(fake_machine("hca mlx5_0 pci=0000:13:00.0 state=DOWN\n"));
  const Plan plan = node.plan_of(set_hcas);
  CHECK(value(plan, list) == "(not set)");
  CHECK(findings(plan) ==
        "problem: HCA port mlx5_0:1 is DOWN, and no other port is active: NCCL would use sockets\n");
  node.step.nodes = 1;
  CHECK(node.plan_of(set_hcas).findings.empty());
  node = PlanFixture(fake_machine("hca mlx5_0 pci=0000:13:00.0 state=DOWN layer=Ethernet\n"));
  CHECK(node.plan_of(set_hcas).findings.empty());
}

TEST_CASE("RoCE in software and RoCE without a network are left out", "[plan][hca]") {
  const Plan software =
      PlanFixture(fake_machine("hca rxe0 layer=Ethernet rate=1 netdev=eth0\n")).plan_of(set_hcas);
  CHECK(value(software, list) == "(not set)");
  CHECK(reason(software, list) == "none is for NCCL's own use: rxe0:1 (no hardware)");
  const Machine down = fake_machine(
      "hca mlx5_0 pci=0000:13:00.0 layer=Ethernet netdev=eth0\nnic eth0 pci=0000:13:00.0 state=down\n");
  CHECK(reason(PlanFixture(down).plan_of(set_hcas), list) ==
        "none is for NCCL's own use: mlx5_0:1 (eth0 is down)");
}

TEST_CASE("the profile's least rate, its list and its `none` are kept", "[plan][hca]") {
  PlanFixture node(fixture_machine("mixed-rates"));
  node.profile.hca_min_rate_gbps = 500;
  CHECK(value(node.plan_of(set_hcas), list) == "(not set)");
  node.profile.hca_min_rate_gbps = 200;
  CHECK(value(node.plan_of(set_hcas), list) == "=mlx5_0:1,mlx5_3:1,mlx5_5:1,mlx5_8:1");

  node.profile.hca_rule = Profile::HcaRule::listed;
  node.profile.hcas = {"mlx5_3", "mlx5_0:1"};
  Plan plan = node.plan_of(set_hcas);
  CHECK(value(plan, list) == "=mlx5_3,mlx5_0:1");
  CHECK(value(plan, "UCX_NET_DEVICES") == "mlx5_0:1,mlx5_3:1");
  CHECK(plan.find(list)->source == Source::profile);
  CHECK(plan.findings.empty());
  node.profile.hcas = {"mlx5_0", "mlx5_77", "mlx5_78:1"};
  CHECK(findings(node.plan_of(set_hcas)) ==
        "problem: the profile lists HCAs that this node has not: mlx5_77, mlx5_78:1\n");
  node.machine = fixture_machine("port-down");
  node.profile.hcas = {"mlx5_0", "mlx5_3"};
  plan = node.plan_of(set_hcas);
  CHECK(value(plan, list) == "=mlx5_0,mlx5_3");
  CHECK(findings(plan) == "problem: HCA port mlx5_3:1 is DOWN, and the profile lists it\n");
  node.machine = fixture_machine("workstation");
  plan = node.plan_of(set_hcas);
  CHECK(plan.decisions.empty());
  CHECK_FALSE(plan.findings.empty());

  node = PlanFixture(fixture_machine("port-down"));
  node.profile.hca_rule = Profile::HcaRule::none;
  plan = node.plan_of(set_hcas);
  CHECK(value(plan, list) == "(not set)");
  CHECK(reason(plan, list) == "the profile says hca = none");
  CHECK(plan.findings.empty());
}

TEST_CASE("a user's HCAs are left as they are, and told where they select nothing", "[plan][hca]") {
  PlanFixture node(fixture_machine("plain-ib"));
  node.environment[list] = "mlx5_1";
  Plan plan = node.plan_of(set_hcas);
  CHECK(value(plan, list) == "mlx5_1");
  CHECK(value(plan, "UCX_NET_DEVICES") == "(not set)");
  CHECK(plan.findings.empty());
  node.environment[list] = "=mlx5_0:2,mlx4_0";
  plan = node.plan_of(set_hcas);
  CHECK(findings(plan) ==
        "problem: NCCL_IB_HCA==mlx5_0:2,mlx4_0 (environment) selects no active port of this node: NCCL would "
        "use "
        "sockets\n");
  CHECK(plan.findings[0].remedy ==
        "--nccl-set=NCCL_IB_HCA==mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1,mlx5_6:1,mlx5_7:1,mlx5_8:1,mlx5_9:1");
}

TEST_CASE("where InfiniBand is switched off nothing is proposed", "[plan][hca]") {
  PlanFixture node(fixture_machine("port-down"));
  node.environment["NCCL_IB_DISABLE"] = "1";
  const Plan plan = node.plan_of(set_hcas);
  CHECK(value(plan, list) == "(not set)");
  CHECK(plan.findings.empty());
  node.environment["NCCL_IB_DISABLE"] = "0";
  CHECK(value(node.plan_of(set_hcas), list) != "(not set)");
}

TEST_CASE("one GID index that is right on all devices is set where the profile wants one", "[plan][hca]") {
  for (const char* fixture : {"roce", "oci-h100", "bonded-roce"}) {
    INFO(fixture);
    const Plan plan = gids_on(fixture);
    CHECK(value(plan, index) == "3");
    CHECK(reason(plan, index) == "the first RoCE v2 GID with an IPv4 address, the same on all devices");
    CHECK(plan.findings.empty());
  }
  CHECK(value(gids_on("gids-in-a-container"), index) == "13");
  CHECK(value(gids_on("plain-ib"), index) == "(not set)");
  CHECK(gids_on("plain-ib").findings.empty());
}

TEST_CASE("where GID indices differ none is set, and both are named", "[plan][hca]") {
  const Plan plan = gids_on("gids-differ");
  CHECK(value(plan, index) == "(not set)");
  CHECK(findings(plan) ==
        "advice: the RoCE v2 GID with an IPv4 address is at index 3 of mlx5_0:1 and at 6 of mlx5_1:1: no "
        "single "
        "NCCL_IB_GID_INDEX is right\n");
}

TEST_CASE("without an IPv4 GID no index is set", "[plan][hca]") {
  const Plan plan = gids_on("gids-v6-only");
  CHECK(value(plan, index) == "(not set)");
  CHECK(findings(plan) ==
        "advice: bnxt_re0:1 has no RoCE v2 GID with an IPv4 address: no GID index was set\n");
}

TEST_CASE("the profile's own GID index is set, and told where a device has no such GID", "[plan][hca]") {
  PlanFixture node(fixture_machine("gids-differ"));
  node.profile.gid_rule = Profile::GidRule::fixed;
  node.profile.gid_index = 1;
  Plan plan = node.plan_of(set_hcas);
  CHECK(value(plan, index) == "1");
  CHECK(plan.find(index)->source == Source::profile);
  CHECK(plan.findings.empty());
  node.profile.gid_index = 3;
  CHECK(findings(node.plan_of(set_hcas)) ==
        "problem: mlx5_1:1 has no GID at index 3, which the profile asks for\n");
}
