// One case per public report of a wrong interface, HCA or GID index: what the node of the report gets, and
// why.
#include <catch2/catch.hpp>

#include <vector>

#include "fake_node.h"
#include "plan_fixture.h"

using namespace lockstep::spank;
using namespace lockstep::spank::test;
using Catch::Matchers::Contains;

namespace {

constexpr const char* ifname = "NCCL_SOCKET_IFNAME";
constexpr const char* list = "NCCL_IB_HCA";
constexpr const char* index = "NCCL_IB_GID_INDEX";
constexpr const char* none = "(not set)";

struct Report {
  const char* name;
  const char* fixture;
  const char* interfaces;  // NCCL_SOCKET_IFNAME
  const char* hcas;        // NCCL_IB_HCA
  const char* gid_index;   // NCCL_IB_GID_INDEX, where the profile wants one
  const char* words;       // of the reason for the interface, the HCAs, or of a finding
};

std::string told_by(const Plan& interface, const Plan& hcas) {
  return reason(interface, ifname) + "\n" + reason(hcas, list) + "\n" + findings(interface) + findings(hcas);
}

void check(const Report& report) {
  PlanFixture node(fixture_machine(report.fixture));
  const Plan interface = node.plan_of(set_interface);
  CHECK(value(interface, ifname) == report.interfaces);
  // The same for those who know no `=`.
  const std::string plain = std::string(report.interfaces) == none ? none : report.interfaces + 1;
  CHECK(value(interface, "GLOO_SOCKET_IFNAME") == plain);
  CHECK(value(interface, "OMPI_MCA_btl_tcp_if_include") == plain);
  CHECK(value(node.plan_of(set_hcas), index) == none);  // NCCL's own choice is left alone unasked
  node.profile.gid_rule = Profile::GidRule::automatic;
  const Plan hcas = node.plan_of(set_hcas);
  CHECK(value(hcas, list) == report.hcas);
  CHECK(value(hcas, index) == report.gid_index);
  CHECK_THAT(told_by(interface, hcas), Contains(report.words));
}

void check_each(const std::vector<Report>& reports) {
  for (const Report& report : reports) {
    DYNAMIC_SECTION(report.name) {
      check(report);
    }
  }
}

Plan plan_with(const std::string& fixture, const std::string& user) {
  PlanFixture node(fixture_machine(fixture));
  node.environment[ifname] = user;
  return node.plan_of(set_interface);
}

}  // namespace

TEST_CASE("the nodes of reports of a wrong interface get the right one", "[plan][reports]") {
  check_each({
      {"nccl 286, one computer", "eno1-alone", "=eno1", none, none, "the only one that reaches other nodes"},
      {"nccl 286, the other", "eth0-alone", "=eth0", none, none, "the only one that reaches other nodes"},
      {"nccl 1581", "two-nics-one-subnet", "=enp37s0f0", none, none,
       "the fastest, 10 Gb/s; not eno1 (slower), eno2, enp37s0f1 (down)"},
      {"nccl 1105", "slow-eth0-beside-ib", "=ib0", "=mlx5_0:1", none,
       "InfiniBand, 100 Gb/s; not eth0 (not InfiniBand)"},
      {"nccl-tests 9", "vlans-on-bond", "=bond0", none, none,
       "the fastest, 50 Gb/s; not bond0.2093, bond0.2093.1 (virtual), eno1, eno2 (port of bond0)"},
      {"nccl-tests 15", "docker0-beside-enp3s0", "=enp3s0", none, none, "not docker0 (container bridge)"},
      {"horovod 584", "link-local-eth1", "=eth0", none, none, "not eth1 (only link-local addresses)"},
      {"horovod 789", "container-macvlan", "=eth0", none, none, "the only one that reaches other nodes"},
      {"uccl 1034", "link-local-only", "=enP2p3s0", none, none, "not enx0afe (only link-local addresses)"},
      {"marin 6940", "one-address-among-many", "=enp90s0np0",
       "=mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1,mlx5_4:1,mlx5_5:1,mlx5_6:1,mlx5_7:1", none,
       "the only one that reaches other nodes, 200 Gb/s; not cilium_host (container bridge), enp90s0v0, "
       "enp90s0v1 and 14 more (no address)"},
  });
}

TEST_CASE("the nodes of reports of IPv6, link-local addresses and tunnels get no false way out",
          "[plan][reports]") {
  check_each({
      {"nccl 210", "loopback-only", none, none, none,
       "advice: no network interface reaches other nodes: there is only loopback"},
      {"nccl 529", "ip6tnl-and-veth0", none, none, none, "not ip6tnl0 (tunnel), veth0 (container's link)"},
      {"oneflow 3586, and nccl 519", "veth-with-link-local", "=eno1", none, none,
       "vet25f2e72 (only link-local addresses), veth25f2e73 (container's link)"},
  });
}

TEST_CASE("the nodes of reports of a wrong GID index get the one that routes, or a word", "[plan][reports]") {
  check_each({
      {"nccl 426", "gid-index-3", "=eth2", "=mlx5_0:1,mlx5_1:1", "3", "100 Gb/s Ethernet"},
      {"nccl 769", "bonded-roce", "=bond0", "=mlx5_bond_0:1", "3", "200 Gb/s Ethernet"},
      {"nccl 1131", "roce-rails-one-subnet", "=ens1np0",
       "=mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1,mlx5_6:1,mlx5_7:1,mlx5_8:1,mlx5_9:1", "3",
       "400 Gb/s Ethernet, beside the GPUs; not mlx5_4:1 (100 Gb/s Ethernet), mlx5_5:1 (DOWN)"},
      {"uccl 803", "gids-v6-only", "=ens0", "=bnxt_re0:1", none,
       "advice: bnxt_re0:1 has no RoCE v2 GID with an IPv4 address: no GID index was set"},
  });
}

TEST_CASE("the nodes of reports of a wrong HCA get those for compute", "[plan][reports]") {
  check_each({
      {"nccl 302", "ethernet-hca-beside-ib", "=eth0", "=mlx5_0:1,mlx5_1:1,mlx5_3:1,mlx5_4:1", none,
       "100 Gb/s InfiniBand, beside the GPUs; not mlx5_2:1 (100 Gb/s Ethernet)"},
      {"nccl 1519", "gcp-a3-mega", "=enp0s12", none, none,
       "the first by name, no speed is known; not enp6s0, enp7s0 and 6 more (as fast, later by name)"},
      {"nccl 1591", "far-storage-same-rate", "=eno1", "=mlx5_0:1,mlx5_1:1,mlx5_4:1,mlx5_5:1", none,
       "400 Gb/s InfiniBand, beside the GPUs; not mlx5_2:1, mlx5_3:1 (400 Gb/s InfiniBand)"},
  });
}

TEST_CASE(
    "nccl 286: a list that names both computers' interfaces is fine on each, one that names the other's "
    "is told",
    "[plan][reports]") {
  for (const std::string name : {"eno1", "eth0"}) {
    const Plan plan = plan_with(name + "-alone", "eno1,eth0");
    CHECK(value(plan, ifname) == "eno1,eth0");
    CHECK(value(plan, "GLOO_SOCKET_IFNAME") == name);
    CHECK(plan.findings.empty());
  }
  CHECK_THAT(findings(plan_with("eth0-alone", "eno1")), Contains("selects no interface of this node"));
  CHECK(plan_with("eth0-alone", "eno1").findings.at(0).remedy == "--nccl-set=NCCL_SOCKET_IFNAME==eth0");
}

TEST_CASE("nccl-tests 9: of all that the prefix takes in the others get the bond", "[plan][reports]") {
  const Plan plan = plan_with("vlans-on-bond", "bond0");
  CHECK(value(plan, ifname) == "bond0");
  CHECK(value(plan, "GLOO_SOCKET_IFNAME") == "bond0");
  CHECK_THAT(reason(plan, "GLOO_SOCKET_IFNAME"),
             Contains("the best of those that NCCL_SOCKET_IFNAME selects"));
}

TEST_CASE("marin 6940: the name without `=` is kept for a program that cannot read it", "[plan][reports]") {
  const Plan plan = plan_with("one-address-among-many", "enp90s0np0");
  CHECK(value(plan, ifname) == "enp90s0np0");
  CHECK(value(plan, "GLOO_SOCKET_IFNAME") == "enp90s0np0");
  CHECK(plan.findings.empty());
}

TEST_CASE("nccl 210: loopback alone is enough for a step on one node", "[plan][reports]") {
  PlanFixture node(fixture_machine("loopback-only"));
  node.step.nodes = 1;
  const Plan plan = node.plan_of(set_interface);
  CHECK(plan.decisions.empty());
  CHECK(plan.findings.empty());
}

TEST_CASE("uccl 803: the profile may name the index of an IPv6 GID", "[plan][reports]") {
  PlanFixture node(fixture_machine("gids-v6-only"));
  CHECK(value(node.plan_of(set_interface), "NCCL_SOCKET_FAMILY") == "AF_INET6");
  node.profile.gid_rule = Profile::GidRule::fixed;
  node.profile.gid_index = 3;
  const Plan plan = node.plan_of(set_hcas);
  CHECK(value(plan, index) == "3");
  CHECK(plan.findings.empty());
}

TEST_CASE("nccl 302: the Ethernet adapter is no stand-in for an InfiniBand one that is down",
          "[plan][reports]") {
  PlanFixture node(fixture_machine("ethernet-hca-beside-ib"));
  HcaPort& port = node.machine.hcas.at(1).ports.at(0);
  port.active = false;
  port.state = "1: DOWN";
  const Plan plan = node.plan_of(set_hcas);
  CHECK(value(plan, list) == "=mlx5_0:1,mlx5_3:1,mlx5_4:1");
  CHECK(findings(plan) == "problem: HCA port mlx5_1:1 is DOWN; its siblings run at 100 Gb/s\n");
}

TEST_CASE("nccl 1519: all interfaces for the data, as the user names them, are kept", "[plan][reports]") {
  const Plan plan = plan_with("gcp-a3-mega", "enp");
  CHECK(value(plan, ifname) == "enp");
  CHECK(value(plan, "GLOO_SOCKET_IFNAME") == "enp0s12");
}

TEST_CASE("nccl 1591: an adapter beside one GPU stands for the others of its NUMA node alone",
          "[plan][reports]") {
  PlanFixture node(fixture_machine("far-storage-same-rate"));
  for (PciDevice& device : node.machine.devices) device.numa = -1;
  CHECK(value(node.plan_of(set_hcas), list) == "=mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1,mlx5_4:1,mlx5_5:1");
}
