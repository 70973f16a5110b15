#include <catch2/catch.hpp>

#include "topology/generate.h"
#include "topology/nccl_xml.h"
#include "topology_machines.h"

using namespace lockstep::spank;
using namespace lockstep::spank::test;

namespace {

const XmlNode* find_pci(const XmlNode& parent, const std::string& busid) {
  for (const XmlNode& child : parent.children) {
    const std::string* own = child.attribute("busid");
    if (own != nullptr && *own == busid) return &child;
    if (const XmlNode* inner = find_pci(child, busid)) return inner;
  }
  return nullptr;
}

XmlNode generated(const Machine& machine) {
  TopologyFile file = parse_topology(generate_topology(machine));
  CHECK(file.reason.empty());
  REQUIRE(file.verdict == TopologyFile::Verdict::loaded);
  CHECK(misfits(*file.system, machine).empty());
  return *file.system;
}

std::string value(const XmlNode* node, const char* name) {
  REQUIRE(node != nullptr);
  const std::string* found = node->attribute(name);
  return found != nullptr ? *found : "(none)";
}

}  // namespace

TEST_CASE("a generated file has a PCI switch as one element, as NCCL walks the tree", "[topology]") {
  CHECK(generate_topology(two_socket_machine()) == R"(<system version="1">
  <cpu numaid="0" affinity="ffffffff,00000000,ffffffff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:11:00.0" class="0x060400" vendor="0x1000" device="0xc030" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:18:00.0" class="0x030200" vendor="0x10de" device="0x2330" link_speed="32.0 GT/s PCIe" link_width="16"/>
      <pci busid="0000:19:00.0" class="0x020700" vendor="0x15b3" device="0x1021" link_speed="32.0 GT/s PCIe" link_width="16"/>
    </pci>
  </cpu>
  <cpu numaid="1" affinity="ffffffff,00000000,ffffffff,00000000" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:91:00.0" class="0x060400" vendor="0x1000" device="0xc030" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:98:00.0" class="0x030200" vendor="0x10de" device="0x2330" link_speed="32.0 GT/s PCIe" link_width="16"/>
      <pci busid="0000:99:00.0" class="0x020700" vendor="0x15b3" device="0x1021" link_speed="32.0 GT/s PCIe" link_width="16"/>
    </pci>
  </cpu>
</system>
)");
  generated(two_socket_machine());
}

TEST_CASE("a device at a root port hangs at its CPU, switches in a row nest", "[topology]") {
  Machine machine = two_socket_machine();
  PciDevice& gpu = machine.devices[4];
  gpu.upstream = {"0000:10:01.0"};
  CHECK(generated(machine).children[0].children.back().attribute("busid") != nullptr);
  CHECK(value(&generated(machine).children[0].children.back(), "busid") == gpu.busid);
  gpu.upstream = {"0000:10:01.0", "0000:11:00.0", "0000:12:00.0", "0000:13:00.0", "0000:14:00.0"};
  const XmlNode system = generated(machine);
  const XmlNode* outer = find_pci(system, "0000:11:00.0");
  REQUIRE(outer != nullptr);
  const XmlNode* inner = find_pci(*outer, "0000:13:00.0");
  CHECK(value(inner, "class") == "0x060400");
  CHECK(find_pci(*inner, gpu.busid) != nullptr);
}

TEST_CASE("the slower and narrower end of a link counts, in the words of NCCL's dictionary", "[topology]") {
  Machine machine = two_socket_machine();
  machine.devices[2].link_speed = "8 GT/s";
  machine.devices[2].link_width = "8";
  machine.devices[5].link_speed = "Unknown";
  machine.devices[5].link_width = "0";
  for (const int hidden : {10, 11}) {
    machine.devices.at(hidden).link_speed = "Unknown";
    machine.devices.at(hidden).link_width = "0";
  }
  machine.devices[9].link_speed = "";
  machine.devices[9].link_width = "";
  const XmlNode system = generated(machine);
  CHECK(value(find_pci(system, "0000:18:00.0"), "link_speed") == "8.0 GT/s PCIe");
  CHECK(value(find_pci(system, "0000:18:00.0"), "link_width") == "8");
  CHECK(value(find_pci(system, "0000:19:00.0"), "link_speed") == "32.0 GT/s PCIe");
  CHECK(value(find_pci(system, "0000:19:00.0"), "link_width") == "16");
  CHECK(value(find_pci(system, "0000:99:00.0"), "link_speed") == "(none)");
  CHECK(value(find_pci(system, "0000:99:00.0"), "link_width") == "(none)");
}

TEST_CASE("devices whose NUMA node is not known go to the first", "[topology]") {
  Machine vm = empty_machine();
  vm.devices = {pci_device("0001:00:00.0", "0x030200", -1), pci_device("0002:00:00.0", "0x030200", 7),
                pci_device("0003:00:00.0", "0x030200", 1)};
  const XmlNode system = generated(vm);
  REQUIRE(system.children.size() == 2);
  CHECK(system.children[0].children.size() == 2);
  CHECK(system.children[1].children.size() == 1);
  vm.numa_nodes.clear();
  CHECK(value(&generated(vm).children.at(0), "numaid") == "0");
}

TEST_CASE("arch, family and affinity are written as NCCL writes them", "[topology]") {
  Machine machine = two_socket_machine();
  machine.cpu_vendor = "AuthenticAMD";
  machine.cpu_family = 25;
  machine.cpu_model = 17;
  machine.numa_nodes[0].cpu_map = "00000000,00000000,00000000,0fffffff";
  const XmlNode amd = generated(machine);
  CHECK(value(&amd.children[0], "familyid") == "175");
  CHECK(value(&amd.children[0], "modelid") == "17");
  CHECK(value(&amd.children[0], "affinity") == "0fffffff");
  machine.arch = "aarch64";
  machine.cpu_vendor = "";
  machine.cpu_family = -1;
  const XmlNode arm = generated(machine);
  CHECK(value(&arm.children[0], "arch") == "arm64");
  CHECK(value(&arm.children[0], "vendor") == "(none)");
  CHECK(value(&arm.children[0], "familyid") == "(none)");
}

TEST_CASE("a node with neither GPUs nor HCAs has no topology file", "[topology]") {
  CHECK(generate_topology(empty_machine()).empty());
  Machine ethernet = empty_machine();
  ethernet.devices = {pci_device("0000:01:00.0", "0x020000", 0)};
  CHECK(generate_topology(ethernet).empty());
}

TEST_CASE("however many devices there are, NCCL has room for the file and its own additions", "[topology]") {
  Machine machine = two_socket_machine();
  for (int i = 0; i < 1000; ++i) {
    machine.devices.push_back(pci_device("0000:a0:" + std::to_string(1000 + i), "0x020000", 1));
  }
  const XmlNode system = generated(machine);
  CHECK(find_pci(system, "0000:98:00.0") != nullptr);
  std::size_t elements = 0;
  for (const XmlNode& cpu : system.children) elements += cpu.children.size();
  CHECK(elements <= 128);
}

TEST_CASE("a value that cannot stand in a tag is left out", "[topology]") {
  Machine machine = two_socket_machine();
  machine.cpu_vendor = "a\"b";
  machine.devices[4].vendor = "0x10de";
  machine.devices[4].device = "<pci/>";
  machine.numa_nodes[0].cpu_map = "no map";
  const XmlNode system = generated(machine);
  CHECK(value(&system.children[0], "vendor") == "(none)");
  CHECK(value(&system.children[0], "affinity") == "(none)");
  CHECK(value(find_pci(system, "0000:18:00.0"), "device") == "(none)");
}
