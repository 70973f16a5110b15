// The interface for sockets: one case per machine that profiles are shipped for, and per kind of report.
#include <catch2/catch.hpp>

#include "fake_node.h"
#include "plan/interface_choice.h"
#include "plan_fixture.h"

using namespace lockstep::spank;
using namespace lockstep::spank::test;
using Catch::Matchers::Contains;

namespace {

constexpr const char* ifname = "NCCL_SOCKET_IFNAME";

// NCCL's value, why, and the value for all others, in one line.
std::string choice_on(const std::string& fixture) {
  const Plan plan = PlanFixture(fixture_machine(fixture)).plan_of(set_interface);
  CHECK(findings(plan).empty());
  CHECK(value(plan, "TP_SOCKET_IFNAME") == value(plan, "GLOO_SOCKET_IFNAME"));
  CHECK(value(plan, "OMPI_MCA_btl_tcp_if_include") == value(plan, "GLOO_SOCKET_IFNAME"));
  return value(plan, ifname) + " " + value(plan, "GLOO_SOCKET_IFNAME") + " " +
         value(plan, "NCCL_SOCKET_FAMILY") + " | " + reason(plan, ifname);
}

Plan plan_with(const std::string& fixture, const std::string& user) {
  PlanFixture node(fixture_machine(fixture));
  node.environment[ifname] = user;
  return node.plan_of(set_interface);
}

}  // namespace

TEST_CASE("InfiniBand comes first, however many Ethernet interfaces there are", "[plan][interface]") {
  CHECK(
      choice_on("plain-ib") ==
      "=ib0 ib0 AF_INET | InfiniBand, 400 Gb/s; not ib1, ib2 and 5 more (as fast, later by name), ens2f0np0, "
      "ens2f1np1 and 1 more (not InfiniBand), eno2 (down)");
  CHECK(
      choice_on("azure-ndv4") ==
      "=ib0 ib0 AF_INET | InfiniBand, 200 Gb/s; not ib1, ib2 and 5 more (as fast, later by name), eth0 (not "
      "InfiniBand), enP27922s1 (no address)");
  CHECK(
      choice_on("azure-ndv5") ==
      "=ib0 ib0 AF_INET | InfiniBand, 400 Gb/s; not ib1, ib2 and 5 more (as fast, later by name), eth0 (not "
      "InfiniBand), enP39823s1 (no address)");
}

TEST_CASE("a slow eth0 does not hide the InfiniBand interface", "[plan][interface]") {
  CHECK(choice_on("slow-eth0-beside-ib") ==
        "=ib0 ib0 AF_INET | InfiniBand, 100 Gb/s; not eth0 (not InfiniBand), eth1 "
        "(down)");
}

TEST_CASE("NCCL gets all Slingshot interfaces, the others the first", "[plan][interface]") {
  CHECK(choice_on("slingshot") ==
        "=hsn0,hsn1,hsn2,hsn3 hsn0 AF_INET | Slingshot, 200 Gb/s; not nmn0 (not Slingshot)");
  PlanFixture node(fixture_machine("slingshot"));
  for (Interface& interface : node.machine.interfaces) {
    if (interface.name == "hsn1") interface.up = false;
  }
  CHECK(value(node.plan_of(set_interface), ifname) == "=hsn0,hsn2,hsn3");
}

TEST_CASE("without a fabric of its own the fastest interface is taken", "[plan][interface]") {
  CHECK(choice_on("roce") ==
        "=ens100np0 ens100np0 AF_INET | the fastest, 400 Gb/s; not ens101np0, ens102np0 and 5 more (as fast, "
        "later by "
        "name), bond0, eno1 (slower), ens7f0np0, ens7f1np1 (port of bond0)");
  CHECK(choice_on("oci-h100") ==
        "=rdma0 rdma0 AF_INET | the fastest, 200 Gb/s; not rdma1, rdma2 and 13 more (as fast, later by "
        "name), eth0 "
        "(slower), eth1 (down)");
  CHECK(choice_on("workstation") ==
        "=eth0 eth0 AF_INET | on a device of the node, 1 Gb/s; not wlan0 (wireless)");
  CHECK(choice_on("efa") ==
        "=enp71s0 enp71s0 AF_INET | the only one that reaches other nodes; not enp88s0, enp105s0 and 5 more "
        "(down)");
}

TEST_CASE("a bond is taken and its ports are not, nor what containers and tunnels use", "[plan][interface]") {
  CHECK(choice_on("ethernet") ==
        "=bond0 bond0 AF_INET | the fastest, 50 Gb/s; not eno1 (slower), docker0, virbr0 (container bridge), "
        "ens1f0, "
        "ens1f1 (port of bond0), tun0 (tunnel) and 1 more");
  CHECK(choice_on("bonded-roce") ==
        "=bond0 bond0 AF_INET | the only one that reaches other nodes, 200 Gb/s; not eth2 "
        "(down), eth3 (port of bond0)");
}

TEST_CASE("docker0 is not taken though it comes first", "[plan][interface]") {
  CHECK(choice_on("docker-first") ==
        "=enp159s0 enp159s0 AF_INET | the only one that reaches other nodes, 100 Gb/s; not docker0 "
        "(container bridge), "
        "enp35s0d1 (down)");
}

TEST_CASE("containers' ends with link-local addresses are not taken", "[plan][interface]") {
  CHECK(choice_on("veth-with-link-local") ==
        "=eno1 eno1 AF_INET | the only one that reaches other nodes, 1 Gb/s; not docker0 (container bridge), "
        "vet25f2e72 (only link-local addresses), veth25f2e73 (container's link)");
}

TEST_CASE("bridges and overlays of a container platform are not taken", "[plan][interface]") {
  CHECK(choice_on("kubernetes-bridges") ==
        "=enp1s0 enp1s0 AF_INET | the only one that reaches other nodes; not br-3f1c2a90b7de, "
        "cali0a1b2c3d4e5 and "
        "4 more "
        "(container bridge), tunl0, wg0 (tunnel)");
}

TEST_CASE("a faster interface with a link-local address alone is not taken", "[plan][interface]") {
  CHECK(choice_on("link-local-only") ==
        "=enP2p3s0 enP2p3s0 AF_INET | the only one that reaches other nodes, 200 Gb/s; "
        "not enx0afe (only link-local addresses)");
}

TEST_CASE("where there is only IPv6 the family is set", "[plan][interface]") {
  CHECK(choice_on("ipv6-only") ==
        "=ens3 ens3 AF_INET6 | the only one that reaches other nodes, 100 Gb/s; not eno1 "
        "(only link-local addresses)");
  const Plan plan = PlanFixture(fake_machine("nic eth0 pci=0000:01:00.0 address=10.0.0.1,2001:db8::1"))
                        .plan_of(set_interface);
  CHECK(value(plan, ifname) == "=eth0");
  CHECK(value(plan, "NCCL_SOCKET_FAMILY") == "(not set)");
}

TEST_CASE("a tunnel is no way out, and a container's link only by the profile's word", "[plan][interface]") {
  PlanFixture node(fixture_machine("ip6tnl-and-veth0"));
  const Plan plan = node.plan_of(set_interface);
  CHECK(plan.decisions.empty());
  CHECK(findings(plan) ==
        "advice: no network interface reaches other nodes: not ip6tnl0 (tunnel), veth0 (container's link)\n");
  node.profile.interfaces = {"veth*"};
  CHECK(node.plan_of(set_interface).decisions.empty());
  node.profile.interfaces = {"veth0"};
  CHECK(value(node.plan_of(set_interface), ifname) == "=veth0");
  CHECK(value(node.plan_of(set_interface), "NCCL_SOCKET_FAMILY") == "AF_INET6");
}

TEST_CASE("the profile's list goes before all else, in its order", "[plan][interface]") {
  PlanFixture node(fixture_machine("plain-ib"));
  node.profile.interfaces = {"bond*", "ens2f?np?", "ib*"};
  const Plan plan = node.plan_of(set_interface);
  CHECK(value(plan, ifname) == "=ens2f0np0");
  CHECK_THAT(reason(plan, ifname),
             Contains("the profile's interfaces (ens2f?np?), 100 Gb/s; not ens2f1np1 (as fast, "
                      "later by name), ib0, ib1 and 7 more (later in the profile)"));
  CHECK(plan.find(ifname)->source == Source::profile);
  CHECK(plan.find(ifname)->origin == "profile test");
}

TEST_CASE("what the profile excludes is not taken", "[plan][interface]") {
  PlanFixture node(fixture_machine("plain-ib"));
  node.profile.excluded_interfaces = {"ib[0-3]", "en*"};
  const Plan plan = node.plan_of(set_interface);
  CHECK(value(plan, ifname) == "=ib4");
  CHECK_THAT(reason(plan, ifname), Contains("(excluded by the profile)"));
  CHECK(plan.find(ifname)->source == Source::rule);
}

TEST_CASE("a physical interface goes before a virtual one of its speed, and names count by value",
          "[plan][interface]") {
  const Machine machine = fake_machine(
      "virtual br0 kind=bridge speed=1000 address=10.0.0.1\n"
      "nic eth10 pci=0000:01:00.0 speed=1000 address=10.0.0.2\nnic eth9 pci=0000:01:00.1 speed=1000 "
      "address=10.0.0.3\n");
  const InterfaceChoice choice = choose_interface(machine, {});
  REQUIRE(choice.chosen.size() == 1);
  CHECK(choice.chosen[0]->name == "eth9");
  CHECK(describe(choice.passed_over) == "eth10 (as fast, later by name), br0 (a bridge on no device)");
}

TEST_CASE("a bridge with the node's address is taken where nothing else is", "[plan][interface]") {
  const Machine machine = fake_machine(
      "virtual br0 kind=bridge speed=1000 address=10.0.0.1\nnic eth0 pci=0000:01:00.0 speed=1000 "
      "master=br0\n");
  CHECK(value(PlanFixture(machine).plan_of(set_interface), ifname) == "=br0");
}

TEST_CASE("a host's bridge is as fast as the device on it, whatever its name", "[plan][interface]") {
  CHECK(choice_on("host-bridge") ==
        "=br-mgmt br-mgmt AF_INET | the fastest, 25 Gb/s; not eno2 (slower), eno1, vnet0 (port of br-mgmt), "
        "virbr0 (container bridge)");
  CHECK(choice_on("openvswitch-host") ==
        "=br-ex br-ex AF_INET | the fastest, 25 Gb/s; not eno2 (slower), ovn-k8s-mp0 (overlay), br-int, "
        "ovs-system (down), eno1 (port of ovs-system) and 2 more");
  // The device may be further below; a bridge of Docker's with one is the host's.
  const Machine machine = fake_machine(
      "nic eno1 pci=0000:01:00.0 speed=10000 master=bond0\nvirtual bond0 kind=bond speed=10000\n"
      "virtual bond0.7 kind=vlan lower=bond0 master=docker0\n"
      "virtual docker0 kind=bridge address=10.0.0.1\nnic eno2 pci=0000:02:00.0 speed=1000 "
      "address=10.1.0.1\n");
  CHECK(choose_interface(machine, {}).reason == "the fastest, 10 Gb/s");
  CHECK(choose_interface(machine, {}).chosen.at(0)->name == "docker0");
}

TEST_CASE("only Docker's own names of bridges are taken for Docker's", "[plan][interface]") {
  const auto reasons = [](const std::string& name) {
    const Machine machine = fake_machine("virtual " + name + " kind=bridge address=172.19.0.1\n");
    return describe(choose_interface(machine, {}).passed_over);
  };
  CHECK(reasons("br-0123456789ab") == "br-0123456789ab (container bridge)");
  CHECK(reasons("br-0123456789ag").empty());
  CHECK(reasons("br-0123456789a").empty());
  CHECK(reasons("br-ex").empty());
}

TEST_CASE("a VLAN of a device goes before overlays and bridges of this node", "[plan][interface]") {
  CHECK(
      choice_on("vlan-beside-overlays") ==
      "=eth0.100 eth0.100 AF_INET | on a device of the node; not antrea-gw0, nordlynx and 1 more (overlay), "
      "eth0 (no address), lxdbr0 (container bridge), ovs-system (down)");
  // However fast a virtual one calls itself.
  const Machine machine = fake_machine(
      "nic eth0 pci=0000:01:00.0 speed=1000\nvirtual eth0.5 kind=vlan lower=eth0 speed=1000 "
      "address=10.0.0.1\n"
      "virtual aaa0 speed=10000 address=10.1.0.1\nvirtual abr0 kind=bridge speed=10000 address=10.2.0.1\n"
      "nic wlan0 pci=0000:02:00.0 kind=wlan address=10.3.0.1\n");
  const InterfaceChoice choice = choose_interface(machine, {});
  CHECK(choice.reason == "on a device of the node, 1 Gb/s");
  CHECK(choice.kind == "other, 1 Gb/s");
  CHECK(describe(choice.passed_over) ==
        "wlan0 (wireless), aaa0 (virtual), abr0 (a bridge on no device), eth0 (no address)");
}

TEST_CASE("a device goes before a VLAN on it, whatever their names", "[plan][interface]") {
  const Machine machine = fake_machine(
      "nic eth0 pci=0000:01:00.0 speed=1000 address=10.0.0.1\n"
      "virtual data kind=vlan lower=eth0 speed=1000 address=10.0.5.1\n");
  const InterfaceChoice choice = choose_interface(machine, {});
  CHECK(choice.chosen.at(0)->name == "eth0");
  CHECK(describe(choice.passed_over) == "data (virtual)");
}

TEST_CASE("an interface of a device without a PCI bus id goes before virtual ones", "[plan][interface]") {
  const Machine machine = fake_machine("virtual aaa0 address=10.1.0.1\nnic eth0 address=10.0.0.4\n");
  CHECK(choose_interface(machine, {}).chosen.at(0)->name == "eth0");
}

TEST_CASE("a container's eth0 is taken before a bridge and an overlay", "[plan][interface]") {
  const Machine machine = fake_machine(
      "virtual br0 kind=bridge speed=10000 address=10.1.0.1\nvirtual eth0 speed=10000 address=10.77.0.1\n"
      "virtual a.1 kind=vxlan speed=10000 address=10.2.0.1\n");
  const InterfaceChoice choice = choose_interface(machine, {});
  CHECK(choice.chosen.at(0)->name == "eth0");
  CHECK(choice.reason == "the likeliest of virtual ones, 10 Gb/s");
  CHECK_FALSE(choice.by_name_alone);
}

TEST_CASE("virtual interfaces that stand on each other end the search", "[plan][interface]") {
  Machine machine = fake_machine("virtual a0 address=10.0.0.1\nvirtual b0 address=10.0.0.2\n");
  machine.interfaces.at(0).lower = {"b0", "b0", "none"};
  machine.interfaces.at(1).lower = {"a0", "a0"};
  CHECK(choose_interface(machine, {}).chosen.at(0)->name == "a0");
}

TEST_CASE("a choice by name alone is worth a word where there are other nodes", "[plan][interface]") {
  PlanFixture node(fake_machine(
      "nic eno1 pci=0000:01:00.0 speed=1000 address=10.0.0.1\n"
      "nic eno2 pci=0000:01:00.1 speed=1000 address=10.1.0.1\nnic eno3 pci=0000:01:00.2 speed=100\n"));
  const Plan plan = node.plan_of(set_interface);
  CHECK(value(plan, ifname) == "=eno1");
  CHECK(findings(plan) ==
        "advice: of several interfaces that would do eno1 was taken by its name alone: not eno2 (as fast, "
        "later by name), eno3 (no address)\n");
  CHECK(plan.findings[0].remedy ==
        "name the right one in the profile (interfaces), or --nccl-set=NCCL_SOCKET_IFNAME==NAME");
  node.step.nodes = 1;
  CHECK(node.plan_of(set_interface).findings.empty());
  node.step.nodes = 2;
  node.profile.interfaces = {"eno*"};
  CHECK(node.plan_of(set_interface).findings.empty());
  node.profile.interfaces = {};
  // Interfaces of HCAs are alike by design.
  node.machine.hcas = {{"mlx5_0", "", "eno1", {}}, {"mlx5_1", "", "eno2", {}}};
  CHECK(node.plan_of(set_interface).findings.empty());
  node.machine.hcas.pop_back();
  CHECK_FALSE(node.plan_of(set_interface).findings.empty());
}

TEST_CASE("UCX gets the interface only where there is no HCA at all", "[plan][interface]") {
  CHECK(value(PlanFixture(fixture_machine("ethernet")).plan_of(set_interface), "UCX_NET_DEVICES") == "bond0");
  CHECK(value(PlanFixture(fixture_machine("efa")).plan_of(set_interface), "UCX_NET_DEVICES") == "(not set)");
}

TEST_CASE("Open MPI is left alone where the user excludes interfaces from it", "[plan][interface]") {
  PlanFixture node(fixture_machine("ethernet"));
  node.environment["OMPI_MCA_btl_tcp_if_exclude"] = "docker0,lo";
  CHECK(value(node.plan_of(set_interface), "OMPI_MCA_btl_tcp_if_include") == "(not set)");
}

TEST_CASE("loopback alone is worth a word only where there are other nodes", "[plan][interface]") {
  PlanFixture node(fake_machine("virtual lo kind=loopback address=127.0.0.1\n"));
  CHECK(findings(node.plan_of(set_interface)) ==
        "advice: no network interface reaches other nodes: there is only loopback\n");
  node.step.nodes = 1;
  const Plan plan = node.plan_of(set_interface);
  CHECK(plan.decisions.empty());
  CHECK(plan.findings.empty());
}

TEST_CASE("nothing is chosen from half the facts", "[plan][interface]") {
  PlanFixture node(fixture_machine("plain-ib"));
  node.machine.complete = false;
  const Plan plan = node.plan_of(set_interface);
  CHECK(plan.decisions.empty());
  CHECK(findings(plan) ==
        "problem: reading this node's devices took too long: no interface and no HCA was chosen\n");
  CHECK(node.plan_of(set_hcas).decisions.empty());
}

TEST_CASE("a user's value that selects nothing is told, and not changed", "[plan][interface]") {
  const Plan plan = plan_with("plain-ib", "=ib");
  CHECK(value(plan, ifname) == "=ib");
  CHECK(value(plan, "GLOO_SOCKET_IFNAME") == "(not set)");
  CHECK(findings(plan) ==
        "problem: NCCL_SOCKET_IFNAME==ib (environment) selects no interface of this node that is up with an "
        "address: "
        "NCCL would say \"no socket interface found\"\n");
  CHECK(plan.findings[0].remedy == "--nccl-set=NCCL_SOCKET_IFNAME==ib0");
  CHECK_FALSE(plan_with("plain-ib", "eno2").findings.empty());
  CHECK(plan_with("plain-ib", "eno").findings.empty());
  CHECK(plan_with("ip6tnl-and-veth0", "eth0").findings[0].remedy ==
        "correct it, or leave it out with --nccl-unset=NCCL_SOCKET_IFNAME");
}

TEST_CASE("the other libraries follow a user's value that selects one interface", "[plan][interface]") {
  const Plan plan = plan_with("plain-ib", "eno");
  CHECK(value(plan, "GLOO_SOCKET_IFNAME") == "eno1");
  CHECK(value(plan, "OMPI_MCA_btl_tcp_if_include") == "eno1");
  CHECK(reason(plan, "GLOO_SOCKET_IFNAME") == "the interface that NCCL_SOCKET_IFNAME selects");
  CHECK(value(plan, "NCCL_SOCKET_FAMILY") == "(not set)");
}

TEST_CASE("of several that a user's value selects the others take the best", "[plan][interface]") {
  CHECK(value(plan_with("plain-ib", "^docker,lo,veth"), "GLOO_SOCKET_IFNAME") == "ib0");
  CHECK(value(plan_with("plain-ib", "en"), "GLOO_SOCKET_IFNAME") == "(not set)");
  CHECK(plan_with("plain-ib", "en").findings.empty());
}

TEST_CASE("a value that NCCL looks past is looked past", "[plan][interface]") {
  CHECK_FALSE(selected_by("", fixture_machine("plain-ib")));
  CHECK_FALSE(selected_by("=", fixture_machine("plain-ib")));
  CHECK(plan_with("plain-ib", "").findings.empty());
}

TEST_CASE("the node's own NCCL file is weaker than the profile and stronger than the rule",
          "[plan][interface]") {
  PlanFixture node(fixture_machine("plain-ib"));
  node.site_file = "NCCL_SOCKET_IFNAME=eno1";
  Plan plan = node.plan_of(set_interface);
  CHECK(value(plan, ifname) == "eno1");
  CHECK(value(plan, "GLOO_SOCKET_IFNAME") == "eno1");
  node.profile.interfaces = {"ib0"};
  plan = node.plan_of(set_interface);
  CHECK(value(plan, ifname) == "=ib0");
  CHECK(value(plan, "GLOO_SOCKET_IFNAME") == "ib0");
}
