#include <catch2/catch.hpp>

#include "topology/nccl_xml.h"
#include "topology_machines.h"

using namespace lockstep::spank;
using namespace lockstep::spank::test;

namespace {

// A VM with one GPU and one HCA at each socket and no bridge to be seen.
Machine vm() {
  Machine machine = empty_machine();
  machine.devices = {pci_device("0001:00:00.0", "0x030200", 0), pci_device("0002:00:00.0", "0x030200", 1),
                     pci_device("0101:00:00.0", "0x020700", 0), pci_device("0102:00:00.0", "0x020700", 1)};
  return machine;
}

constexpr const char* first_socket =
    R"(<cpu numaid="0" affinity="ffffffff,00000000,ffffffff">
<pci busid="ffff:ff:01.0" class="0x060400">
<pci busid="0001:00:00.0" class="0x030200"/><pci busid="0101:00:00.0" class="0x020700"/></pci></cpu>)";
constexpr const char* second_socket =
    R"(<cpu numaid="1" affinity="ffffffff,00000000,ffffffff,00000000">
<pci busid="ffff:ff:02.0" class="0x060400">
<pci busid="0002:00:00.0" class="0x030200"/><pci busid="0102:00:00.0" class="0x020700"/></pci></cpu>)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::vector<std::string> differences(const std::string& cpus, const Machine& machine) {
  const TopologyFile file = parse_topology("<system version=\"1\">\n" + cpus + "\n</system>");
  REQUIRE(file.reason.empty());
  return misfits(*file.system, machine);
}

std::vector<std::string> differences(const std::string& first, const std::string& second) {
  return differences(first + second, vm());
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("a file with invented bridges fits the VM that it was written for", "[topology]") {
  CHECK(differences(first_socket, second_socket).empty());
}

TEST_CASE("a file without classes, affinity or arch fits too: NCCL takes them from sysfs", "[topology]") {
  CHECK(differences(R"(<cpu numaid="0"><pci busid="0001:00:00.0"/><pci busid="0101:00:00.0"/></cpu>)",
                    R"(<cpu numaid="1"><pci busid="0002:00:00.0"/><pci busid="0102:00:00.0"/></cpu>)")
            .empty());
}

TEST_CASE("devices that the node has not are named, GPUs first", "[topology]") {
  CHECK(differences(replaced(first_socket, "0101:", "0111:"), second_socket) ==
        Lines{"names network device 0111:00:00.0, which this node has not"});
  CHECK(differences(replaced(replaced(first_socket, "0101:", "0111:"), "0001:00", "0005:00"),
                    second_socket) == Lines{"names GPU 0005:00:00.0, which this node has not",
                                            "lacks GPU 0001:00:00.0 of this node",
                                            "names network device 0111:00:00.0, which this node has not"});
  CHECK(differences(first_socket,
                    R"(<cpu numaid="1"><pci busid="0002:00:00.0"/><pci busid="0009:00:00.0"/></cpu>)") ==
        Lines{"names device 0009:00:00.0, which this node has not"});
}

TEST_CASE("a <gpu> or <nic> makes a device without class a GPU or a network device", "[topology]") {
  CHECK(differences(first_socket + std::string(second_socket) +
                        R"(<cpu numaid="1"><pci busid="0007:00:00.0"><gpu dev="0"/></pci>
<pci busid="0008:00:00.0"><nic/></pci></cpu>)",
                    vm()) == Lines{"names GPU 0007:00:00.0, which this node has not",
                                   "names network device 0008:00:00.0, which this node has not"});
}

TEST_CASE("GPUs that the file lacks are counted", "[topology]") {
  CHECK(differences(first_socket, "") == Lines{"lacks GPU 0002:00:00.0 of this node"});
  Machine large = vm();
  for (const char* busid : {"0003:00:00.0", "0004:00:00.0", "0005:00:00.0", "0006:00:00.0"}) {
    large.devices.push_back(pci_device(busid, "0x030200", 1));
  }
  CHECK(differences(first_socket, large) ==
        Lines{"lacks 5 of this node's 6 GPUs: 0002:00:00.0, 0003:00:00.0, 0004:00:00.0 and 2 more"});
}

TEST_CASE("a file of a larger machine is counted against this one", "[topology]") {
  Machine half = vm();
  half.devices.erase(half.devices.begin());
  half.devices.push_back(pci_device("0009:00:00.0", "0x030200", 1));
  CHECK(differences(first_socket + std::string(second_socket) +
                        R"(<cpu numaid="0"><pci busid="0003:00:00.0" class="0x030200"/></cpu>)",
                    half) == Lines{"names 3 GPUs, 2 of which this node has not: 0001:00:00.0, 0003:00:00.0",
                                   "lacks GPU 0009:00:00.0 of this node"});
}

TEST_CASE("an invented bridge without a class would end NCCL, and comes first", "[topology]") {
  CHECK(differences(replaced(replaced(first_socket, " class=\"0x060400\"", ""), "0101:", "0111:"),
                    second_socket) ==
        Lines{"gives no class for bridge ffff:ff:01.0 in line 3, which this node has not: NCCL will fail",
              "names network device 0111:00:00.0, which this node has not"});
}

TEST_CASE("a bus id in capitals is another device for NCCL", "[topology]") {
  Machine machine = vm();
  machine.devices[0].busid = "000a:00:00.0";
  CHECK(differences(replaced(first_socket, "0001:", "000A:") + second_socket, machine) ==
        Lines{"writes bus id 000A:00:00.0 in capitals: NCCL takes it for another device"});
}

TEST_CASE("a NUMA node that is not there is named", "[topology]") {
  CHECK(differences(replaced(first_socket, "numaid=\"0\"", "numaid=\"4\""), second_socket) ==
        Lines{"names NUMA node 4, but this node has 0, 1"});
  CHECK(differences(replaced(first_socket, "numaid=\"0\"", "numaid=\"-1\""), second_socket).empty());
  Machine unknown = vm();
  unknown.numa_nodes.clear();
  CHECK(differences(first_socket + std::string(second_socket), unknown).empty());
}

TEST_CASE("an affinity that contradicts the node is named, with the devices that it misplaces",
          "[topology]") {
  CHECK(differences(replaced(first_socket, "ffffffff,00000000,ffffffff", "ffffffff,ffffffff,ffffffff"),
                    second_socket) == Lines{"gives NUMA node 0 CPUs of NUMA node 1"});
  CHECK(
      differences(replaced(first_socket, "ffffffff,00000000,ffffffff", "ffffffff,00000000"), second_socket) ==
      Lines{"gives NUMA node 0 other CPUs than it has here (0-31,64-95)",
            "puts 0001:00:00.0 at NUMA node 0, but its CPUs here are 0-31,64-95",
            "puts 0101:00:00.0 at NUMA node 0, but its CPUs here are 0-31,64-95"});
  CHECK(differences(replaced(first_socket, "ffffffff,00000000,ffffffff", "0xff"), second_socket) ==
        Lines{"gives NUMA node 0 the affinity \"0xff\", which is no map of CPUs (00ffffff,00ffffff)"});
}

TEST_CASE("CPUs that are offline, or not in the file, are no contradiction", "[topology]") {
  Machine machine = vm();
  machine.numa_nodes[0].cpus = "0-31";
  machine.numa_nodes[1].cpus = "32-63";
  CHECK(differences(first_socket + std::string(second_socket), machine).empty());
  CHECK(differences(replaced(first_socket, "ffffffff,00000000,ffffffff", "0000ffff"), second_socket).empty());
}

TEST_CASE("a device at the wrong NUMA node is named, unless the VM hides where it is", "[topology]") {
  const std::string crossed = replaced(replaced(first_socket, "0001:00", "0002:00"), "0101", "0102");
  const std::string other = replaced(replaced(second_socket, "0002:00", "0001:00"), "0102", "0101");
  CHECK(differences(crossed, other).size() == 4);
  CHECK(differences(crossed, other).front() ==
        "puts 0002:00:00.0 at NUMA node 0, but its CPUs here are 32-63,96-127");
  Machine hidden = vm();
  for (PciDevice& device : hidden.devices) device.local_cpus = "0-127";
  CHECK(differences(crossed + other, hidden).empty());
  for (PciDevice& device : hidden.devices) device.local_cpus = "";
  CHECK(differences(crossed + other, hidden).empty());
}

TEST_CASE("nothing is said to be missing from a node that was not read to the end", "[topology]") {
  Machine slow = empty_machine();
  slow.numa_nodes.clear();
  slow.complete = false;
  CHECK(differences(first_socket + std::string(second_socket), slow).empty());
}
