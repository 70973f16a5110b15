#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>

#include "../unit/temp_folder.h"
#include "fake_node.h"
#include "machine/node_facts.h"

using namespace lockstep::spank;
using Strings = std::vector<std::string>;

namespace {

const Interface& interface_of(const Machine& machine, const std::string& name) {
  for (const Interface& interface : machine.interfaces) {
    if (interface.name == name) return interface;
  }
  throw std::runtime_error("no interface " + name);
}

}  // namespace

TEST_CASE("an InfiniBand node is read with all that NCCL's set-up needs", "[machine]") {
  const Machine machine = fixture_machine("plain-ib");
  CHECK(machine.complete);
  CHECK(machine.product == "PowerEdge XE9680");
  CHECK(machine.driver == "550.54.15");
  CHECK(machine.arch == "x86_64");
  CHECK(machine.cpu_vendor == "GenuineIntel");
  CHECK(machine.cpu_family == 6);
  CHECK(machine.cpu_model == 143);
  CHECK(machine.shm_bytes == std::uint64_t{1008} << 30);
  CHECK(machine.memlock_bytes == std::numeric_limits<std::uint64_t>::max());
  CHECK(machine.ephemeral_first == 32768);
  CHECK(machine.ephemeral_last == 60999);
  REQUIRE(machine.numa_nodes.size() == 2);
  CHECK(machine.numa_nodes[1].cpus == "48-95");
  CHECK(machine.numa_nodes[1].cpu_map == "ffffffff,ffff0000,00000000");

  Strings hcas;
  for (const Hca& hca : machine.hcas) hcas.push_back(hca.name);
  CHECK(hcas == Strings{"mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3", "mlx5_4", "mlx5_5", "mlx5_6", "mlx5_7",
                        "mlx5_8", "mlx5_9"});
  CHECK(machine.hcas[0].pci == "0000:19:00.0");
  CHECK(machine.hcas[0].netdev == "ib0");
  REQUIRE(machine.hcas[0].ports.size() == 1);
  CHECK(machine.hcas[0].ports[0].active);
  CHECK(machine.hcas[0].ports[0].state == "4: ACTIVE");
  CHECK(machine.hcas[0].ports[0].rate_gbps == 400);
  CHECK(machine.hcas[0].ports[0].link_layer == "InfiniBand");
  const auto& gids = machine.hcas[4].ports[0].gids;
  REQUIRE(gids.size() == 4);
  CHECK(gids[3].index == 3);
  CHECK(gids[3].gid == "0000:0000:0000:0000:0000:ffff:0a28:000b");
  CHECK(gids[3].type == "RoCE v2");
  CHECK(gids[2].type == "IB/RoCE v1");
  CHECK(gids[3].netdev == "ens2f0np0");

  REQUIRE(machine.gpus().size() == 8);
  const PciDevice& gpu = *machine.gpus()[0];
  CHECK(gpu.busid == "0000:18:00.0");
  CHECK(gpu.vendor == "0x10de");
  CHECK(gpu.device == "0x2330");
  CHECK(gpu.subsystem_vendor == "0x10de");
  CHECK(gpu.subsystem_device == "0x16c1");
  CHECK(gpu.numa == 0);
  CHECK(gpu.local_cpus == "0-47");
  CHECK(gpu.link_speed == "32.0 GT/s PCIe");
  CHECK(gpu.link_width == "16");
  CHECK(gpu.upstream == Strings{"0000:15:01.0", "0000:16:00.0", "0000:17:00.0"});
  REQUIRE(machine.device("0000:16:00.0") != nullptr);
  CHECK(machine.device("0000:16:00.0")->is_bridge());
  CHECK_FALSE(machine.device("0000:16:00.0")->is_gpu());
  CHECK(machine.device("0000:ff:00.0") == nullptr);

  const Interface& ib0 = interface_of(machine, "ib0");
  CHECK(ib0.type == 32);
  CHECK(ib0.up);
  CHECK(ib0.speed_mbps == 400000);
  CHECK(ib0.pci == "0000:19:00.0");
  REQUIRE(ib0.addresses.size() == 2);
  CHECK(ib0.addresses[1].link_local);
  CHECK_FALSE(interface_of(machine, "eno2").up);
  CHECK(interface_of(machine, "lo").loopback);
}

TEST_CASE("bonds, bridges, ports and tunnels are told apart", "[machine]") {
  const Machine machine = fixture_machine("ethernet");
  CHECK(interface_of(machine, "bond0").bond);
  CHECK_FALSE(interface_of(machine, "bond0").bridge);
  CHECK(interface_of(machine, "bond0").pci.empty());
  CHECK(interface_of(machine, "docker0").bridge);
  CHECK(interface_of(machine, "ens1f0").master == "bond0");
  CHECK(interface_of(machine, "tun0").tunnel);
  CHECK(interface_of(machine, "tun0").up);
  CHECK_FALSE(interface_of(machine, "eno1").tunnel);
  CHECK(machine.memlock_bytes == 8 << 20);
}

TEST_CASE("the kernel's word for what an interface is, and what it stands on, are read", "[machine]") {
  const Machine bridge = fixture_machine("host-bridge");
  CHECK(interface_of(bridge, "br-mgmt").kind == "bridge");
  CHECK(interface_of(bridge, "br-mgmt").lower == Strings{"eno1", "vnet0"});
  CHECK_FALSE(interface_of(bridge, "br-mgmt").hardware);
  CHECK(interface_of(bridge, "eno1").hardware);
  CHECK(interface_of(bridge, "eno1").lower.empty());
  CHECK(interface_of(bridge, "eno1").speed_mbps == 25000);
  CHECK(interface_of(bridge, "vnet0").kind.empty());
  const Machine overlays = fixture_machine("vlan-beside-overlays");
  CHECK(interface_of(overlays, "eth0.100").kind == "vlan");
  CHECK(interface_of(overlays, "eth0.100").lower == Strings{"eth0"});
  CHECK(interface_of(overlays, "nordlynx").kind == "wireguard");
  const Machine other_bus = fake_machine("nic eth0 speed=1000\nvirtual eth1 speed=1000\n");
  CHECK(interface_of(other_bus, "eth0").hardware);
  CHECK(interface_of(other_bus, "eth0").pci.empty());
  CHECK(interface_of(other_bus, "eth0").speed_mbps == 1000);
  CHECK_FALSE(interface_of(other_bus, "eth1").hardware);
  // Nobody reaches it: its driver is not asked.
  CHECK(interface_of(other_bus, "eth1").speed_mbps == 0);
}

TEST_CASE("an InfiniBand interface without a speed of its own has its port's", "[machine]") {
  CHECK(interface_of(fixture_machine("azure-ndv4"), "ib3").speed_mbps == 200000);
}

TEST_CASE("GIDs are found behind empty entries", "[machine]") {
  const Machine machine = fixture_machine("gids-in-a-container");
  REQUIRE(machine.hcas[0].ports[0].gids.size() == 2);
  CHECK(machine.hcas[0].ports[0].gids[0].index == 12);
}

TEST_CASE("of the other PCI devices only bridges above the kept ones are read", "[machine]") {
  const Machine machine = fake_machine(
      "gpu 0000:19:00.0 under=0000:15:01.0\n"
      "pci 0000:00:1f.0 class=0x060100\n"
      "pci 0000:00:1c.0 class=0x060400\n"
      "pci 0000:02:00.0 class=0x010802 under=0000:00:1d.0\n"
      "nic eth0 pci=10000:01:00.0\n");
  Strings ids;
  for (const PciDevice& device : machine.devices) ids.push_back(device.busid);
  CHECK(ids == Strings{"0000:15:01.0", "0000:19:00.0", "10000:01:00.0"});
  CHECK(interface_of(machine, "eth0").pci == "10000:01:00.0");
}

TEST_CASE("virtual functions beside their physical one are left out unless RDMA uses them", "[machine]") {
  const TempFolder root;
  write_fake_node("nic eth0 pci=0000:01:00.0\nnic eth1 pci=0000:01:00.1\nhca mlx5_3 pci=0000:01:00.2\n",
                  root.path());
  for (const char* function : {"0000:01:00.1", "0000:01:00.2"}) {
    const auto at = root / "sys/bus/pci/devices" / function;
    std::filesystem::create_symlink("../0000:01:00.0", std::filesystem::canonical(at) / "physfn");
  }
  MachineSource source;
  source.root = root.path();
  source.limit = source.wall_limit = std::chrono::minutes(1);
  const Machine machine = read_machine(source);
  CHECK(machine.device("0000:01:00.0") != nullptr);
  CHECK(machine.device("0000:01:00.1") == nullptr);
  CHECK(machine.device("0000:01:00.2") != nullptr);
}

TEST_CASE("Arm and POWER processors are recognised, and drivers of both kinds of module", "[machine]") {
  const TempFolder root;
  std::filesystem::create_directories(root / "proc/driver/nvidia");
  const auto read_with = [&](const std::string& cpuinfo, const std::string& driver) {
    std::ofstream(root / "proc/cpuinfo") << cpuinfo;
    std::ofstream(root / "proc/driver/nvidia/version") << driver;
    MachineSource source;
    source.root = root.path();
    source.limit = source.wall_limit = std::chrono::minutes(1);
    return read_machine(source);
  };
  const Machine arm =
      read_with("processor\t: 0\nBogoMIPS\t: 2000.00\nCPU implementer\t: 0x41\n",
                "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  560.35.03  Release Build\n");
  CHECK(arm.arch == "arm64");
  CHECK(arm.cpu_model == -1);
  CHECK(arm.driver == "560.35.03");
  CHECK(read_with("processor\t: 0\ncpu\t\t: POWER9, altivec supported\n", "").arch == "ppc64");
  CHECK(read_with("", "nothing of note").driver.empty());
}

TEST_CASE("an empty tree is a node of which nothing is known", "[machine]") {
  const TempFolder root;
  MachineSource source;
  source.root = root.path();
  const Machine machine = read_machine(source);
  CHECK(machine.interfaces.empty());
  CHECK(machine.devices.empty());
  CHECK(machine.shm_bytes == 0);
  CHECK(machine.ephemeral_last == 60999);
}

TEST_CASE("odd port ranges are not believed", "[machine]") {
  CHECK(fake_machine("ports = 9000-20000").ephemeral_first == 9000);
  CHECK(fake_machine("ports = 20000-9000").ephemeral_first == 32768);
  CHECK(fake_machine("ports = 1-70000").ephemeral_last == 60999);
}

TEST_CASE("a copy of what was observed shows the same node", "[machine]") {
  const TempFolder original;
  const TempFolder copy;
  write_fake_node(
      "hca mlx5_0 pci=0000:18:00.0 under=0000:17:00.0 netdev=ib0\n"
      "nic ib0 pci=0000:18:00.0 type=32 speed=400000\n"
      "virtual bond0 kind=bond speed=100 address=10.0.0.1\nnic eth0 pci=0000:02:00.0 master=bond0\n"
      "virtual bond0.5 kind=vlan lower=bond0 address=10.0.5.1\n"
      "gpu 0000:19:00.0 under=0000:17:00.0\nnuma 0 cpus=0-3 map=f\n",
      original.path());
  MachineSource source;
  source.root = original.path();
  source.limit = source.wall_limit = std::chrono::minutes(1);
  source.observe = [&](const Reading& reading) {
    const auto at = copy.path() / reading.path;
    std::filesystem::create_directories(at.parent_path());
    if (reading.kind == Reading::Kind::file) std::ofstream(at) << reading.text;
    if (reading.kind == Reading::Kind::folder) std::filesystem::create_directories(at);
    if (reading.kind == Reading::Kind::link && !std::filesystem::is_symlink(at)) {
      std::filesystem::create_symlink(reading.text, at);
    }
  };
  const Machine first = read_machine(source);
  source.root = copy.path();
  source.observe = nullptr;
  const Machine second = read_machine(source);
  REQUIRE(second.interfaces.size() == first.interfaces.size());
  CHECK(interface_of(second, "eth0").master == "bond0");
  CHECK(interface_of(second, "bond0").bond);
  CHECK(interface_of(second, "bond0.5").kind == "vlan");
  CHECK(interface_of(second, "bond0.5").lower == Strings{"bond0"});
  CHECK(interface_of(second, "bond0").addresses.size() == 1);
  REQUIRE(second.hcas.size() == 1);
  CHECK(second.hcas[0].netdev == "ib0");
  CHECK(second.hcas[0].pci == "0000:18:00.0");
  REQUIRE(second.gpus().size() == 1);
  CHECK(second.gpus()[0]->upstream == Strings{"0000:17:00.0"});
  CHECK(second.devices.size() == first.devices.size());
  CHECK(second.numa_nodes.size() == 1);
}

TEST_CASE("this very machine is read", "[machine]") {
  MachineSource source;
  source.limit = source.wall_limit = std::chrono::minutes(1);
  std::set<std::string> paths;
  source.observe = [&](const Reading& reading) { paths.insert(reading.path); };
  const Machine machine = read_machine(source);
  CHECK(machine.complete);
  CHECK(interface_of(machine, "lo").loopback);
  CHECK(machine.memlock_bytes > 0);
  // No more than what a small file each for what is there takes: nobody waits for a thousand files.
  CHECK(paths.size() < 40 + 12 * machine.interfaces.size() + 100 * machine.hcas.size() + 400);
}

TEST_CASE("all invented nodes can be read", "[machine]") {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("test/fixtures/nodes")) {
    INFO(entry.path());
    CHECK_FALSE(fixture_machine(entry.path().stem().string()).interfaces.empty());
    ++count;
  }
  CHECK(count >= 20);
}

TEST_CASE("a mistake in a description is named with its line", "[machine]") {
  CHECK_THROWS_WITH(fake_machine("numa 0 cpus=0\nnick eth0\n"), "line 2: \"nick\" is no kind of thing");
  CHECK_THROWS_WITH(fake_machine("product = \"open"), "line 1: a quote is not closed");
  CHECK_THROWS_WITH(fake_machine("nic eth0 pci\n"), "line 1: \"pci\" is no key=value");
}
