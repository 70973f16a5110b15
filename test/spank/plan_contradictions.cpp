// Settings for the network that work against each other, or against what the node has.
#include <catch2/catch.hpp>

#include "plan_fixture.h"

using namespace lockstep::spank;
using namespace lockstep::spank::test;

namespace {

Interface interface_named(const std::string& name, std::vector<Address> addresses) {
  Interface interface;
  interface.name = name;
  interface.up = true;
  interface.addresses = std::move(addresses);
  return interface;
}

const Address v4{false, "10.0.0.1", false};
const Address v6{true, "2001:db8::1", false};
const Address v6_link_local{true, "fe80::1", true};

Machine node() {
  Machine machine;
  machine.interfaces = {interface_named("eth0", {v4, v6_link_local}), interface_named("eth1", {v6})};
  return machine;
}

Hca hca_named(const std::string& name, double rate) {
  HcaPort port;
  port.active = true;
  port.rate_gbps = rate;
  port.link_layer = "InfiniBand";
  Hca hca;
  hca.name = name;
  hca.pci = "0000:01:00.0";
  hca.ports = {port};
  return hca;
}

std::string found(const PlanFixture& fixture) {
  return findings(fixture.plan_of(look_at_files));
}

}  // namespace

TEST_CASE("an interface without an address of the family is a problem", "[plan][contradictions]") {
  PlanFixture fixture(node());
  const auto with = [&](const char* family, const char* names) {
    fixture.environment = {{"NCCL_SOCKET_FAMILY", family}, {"NCCL_SOCKET_IFNAME", names}};
    return found(fixture);
  };
  CHECK(with("AF_INET", "=eth1") ==
        "problem: NCCL_SOCKET_FAMILY='AF_INET' (environment), but what NCCL_SOCKET_IFNAME='=eth1' "
        "(environment) "
        "selects has no IPv4 address: NCCL would find no socket interface\n");
  CHECK(with("AF_INET6", "=eth0") ==
        "problem: NCCL_SOCKET_FAMILY='AF_INET6' (environment), but what NCCL_SOCKET_IFNAME='=eth0' "
        "(environment) selects has link-local IPv6 addresses only: they reach no other node\n");
  CHECK(with("AF_INET", "=eth0").empty());
  CHECK(with("AF_INET6", "=eth1").empty());
  // One that fits is enough.
  CHECK(with("AF_INET", "eth").empty());
  CHECK(with("AF_INET6", "^eth1,lo") != "");
  // Another word is told of as such.
  CHECK_THAT(with("inet6", "=eth0"), !Catch::Contains("selects has"));
  fixture.machine.complete = false;
  CHECK(with("AF_INET", "=eth1").empty());
  fixture.machine.complete = true;
  fixture.step.nodes = 1;
  CHECK(with("AF_INET6", "=eth0").empty());
  CHECK(with("AF_INET", "=eth1") != "");
}

TEST_CASE("the family is compared with the interface whoever sets the two", "[plan][contradictions]") {
  PlanFixture fixture(node());
  fixture.site_file = "NCCL_SOCKET_FAMILY=AF_INET6";
  fixture.profile.constants = {{"NCCL_SOCKET_IFNAME", "=eth0", 1}};
  CHECK(found(fixture) ==
        "problem: NCCL_SOCKET_FAMILY='AF_INET6' (/etc/nccl.conf:1), but what NCCL_SOCKET_IFNAME='=eth0' "
        "(profile "
        "test) selects has link-local IPv6 addresses only: they reach no other node\n");
  fixture.options.set = {{"NCCL_SOCKET_FAMILY", "AF_INET"}};
  CHECK(found(fixture).empty());
}

TEST_CASE("libraries other than NCCL take plain names of interfaces", "[plan][contradictions]") {
  PlanFixture fixture(node());
  for (const std::string variable : {"GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME"}) {
    fixture.environment = {{variable, "=eth0"}};
    CHECK(found(fixture) ==
          "problem: " + variable +
              "='=eth0' (environment): '=' is NCCL's alone; this variable takes the plain name "
              "of an interface\n");
    fixture.environment = {{variable, "^lo"}};
    CHECK(found(fixture) ==
          "problem: " + variable +
              "='^lo' (environment): '^' is NCCL's alone; this variable takes the plain name of "
              "an interface\n");
    fixture.environment = {{variable, "eth"}};
    CHECK(
        found(fixture) ==
        "problem: " + variable +
            "='eth' (environment): this node has no interface 'eth', and this variable takes whole names\n");
    for (const char* good : {"eth0", "eth0,eth1", ""}) {
      fixture.environment = {{variable, good}};
      CHECK(found(fixture).empty());
    }
  }
  fixture.environment = {{"GLOO_SOCKET_IFNAME", "eth7"}};
  fixture.machine.complete = false;
  CHECK(found(fixture).empty());
}

TEST_CASE("HCAs that are slower than the rule's are told, with both", "[plan][contradictions]") {
  PlanFixture fixture(Machine{});
  fixture.machine.hcas = {hca_named("mlx5_0", 400), hca_named("mlx5_1", 400), hca_named("mlx5_2", 100)};
  const auto with = [&](const char* list) {
    fixture.environment = {{"NCCL_IB_HCA", list}};
    return found(fixture);
  };
  CHECK(with("=mlx5_2") ==
        "advice: NCCL_IB_HCA='=mlx5_2' (environment) selects no port of more than 100 Gb/s; the rule would "
        "choose =mlx5_0:1,mlx5_1:1 of 400 Gb/s\n");
  // One of them may be meant for this task.
  CHECK(with("=mlx5_1").empty());
  CHECK(with("mlx5").empty());
  // Told where the HCAs are chosen.
  CHECK(with("=mlx5_9").empty());

  fixture.environment.clear();
  fixture.site_file = "NCCL_IB_HCA=mlx5_2";
  CHECK(found(fixture).starts_with("advice: NCCL_IB_HCA='mlx5_2' (/etc/nccl.conf:1) selects no port"));
  SECTION("not where the site has listed them itself") {
    fixture.profile.constants = {{"NCCL_IB_HCA", "=mlx5_2", 1}};
  }
  SECTION("not where the profile leaves the rule out") {
    fixture.profile.hca_rule = Profile::HcaRule::none;
  }
  SECTION("not on a single node") {
    fixture.step.nodes = 1;
  }
  SECTION("not where sockets are wanted") {
    fixture.site_file += "\nNCCL_NET=socket";
    CHECK(found(fixture).find("selects no port") == std::string::npos);
    return;
  }
  SECTION("not where the node could not be read in time") {
    fixture.machine.complete = false;
  }
  CHECK(found(fixture).empty());
}
