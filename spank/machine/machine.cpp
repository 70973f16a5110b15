#include "machine/machine.h"

#include <time.h>

#include <algorithm>

#include "core/text.h"
#include "machine/node_facts.h"
#include "machine/parts.h"

namespace lockstep::spank {

namespace {

// "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  Release Build ...": the first word
// that begins with a digit and has a point.
std::string driver_version(std::string_view text) {
  for (const std::string& word : split(text.substr(0, text.find('\n')), ' ')) {
    if (!word.empty() && word[0] >= '0' && word[0] <= '9' && word.find('.') != std::string::npos) return word;
  }
  return {};
}

void read_ephemeral_ports(Tree& tree, Machine& machine) {
  const std::string range = tree.text("proc/sys/net/ipv4/ip_local_port_range").value_or("");
  const auto blank = range.find_first_of(" \t");
  if (blank == std::string::npos) return;
  const auto first = parse_int(trim(range.substr(0, blank)));
  const auto last = parse_int(trim(range.substr(blank)));
  if (!first || !last || *first < 1 || *last > 65535 || *first > *last) return;
  machine.ephemeral_first = static_cast<int>(*first);
  machine.ephemeral_last = static_cast<int>(*last);
}

void add_node_facts(const NodeFacts& facts, Machine& machine) {
  machine.shm_bytes = facts.shm_bytes;
  machine.memlock_bytes = facts.memlock_bytes;
  for (const auto& [name, address] : facts.addresses) {
    for (Interface& interface : machine.interfaces) {
      if (interface.name == name) interface.addresses.push_back(address);
    }
  }
}

// The driver is asked for a speed, under a lock that others may hold for long: last of all, and not for the
// hundreds of virtual interfaces that containers may have.
void read_speeds(Tree& tree, std::vector<Interface>& interfaces) {
  for (Interface& interface : interfaces) {
    const bool matters = has_usable_address(interface) || interface.hardware || interface.bond;
    if (interface.up && !interface.loopback && matters) read_speed(tree, interface);
  }
}

// Older kernels do not tell the speed of an interface on InfiniBand; its port does.
void fill_in_speeds(Machine& machine) {
  for (Interface& interface : machine.interfaces) {
    if (interface.speed_mbps != 0 || !interface.up) continue;
    for (const Hca& hca : machine.hcas) {
      if (hca.netdev != interface.name) continue;
      for (const HcaPort& port : hca.ports) {
        if (port.active) interface.speed_mbps = static_cast<std::int64_t>(port.rate_gbps * 1000);
      }
    }
  }
}

}  // namespace

bool has_usable_address(const Interface& interface) {
  return std::any_of(interface.addresses.begin(), interface.addresses.end(),
                     [](const Address& address) { return !address.link_local; });
}

bool PciDevice::is_gpu() const {
  return vendor == "0x10de" && (device_class.starts_with("0x0302") || device_class.starts_with("0x0300"));
}

bool PciDevice::is_bridge() const {
  return device_class.starts_with("0x0604");
}

std::vector<const PciDevice*> Machine::gpus() const {
  std::vector<const PciDevice*> found;
  for (const PciDevice& device : devices) {
    if (device.is_gpu()) found.push_back(&device);
  }
  return found;
}

const PciDevice* Machine::device(const std::string& busid) const {
  const auto found = std::find_if(devices.begin(), devices.end(),
                                  [&](const PciDevice& device) { return device.busid == busid; });
  return found == devices.end() ? nullptr : &*found;
}

std::chrono::nanoseconds thread_cpu_time() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

std::chrono::nanoseconds wall_time() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

Machine read_machine(const MachineSource& source) {
  Machine machine;
  Tree tree(source);
  machine.product = tree.text(tree.follow("sys/class/dmi/id") + "/product_name").value_or("");
  machine.driver = driver_version(tree.text("proc/driver/nvidia/version").value_or(""));
  read_ephemeral_ports(tree, machine);
  machine.interfaces = read_interfaces(tree);
  machine.hcas = read_hcas(tree);
  read_processors(tree, machine);
  machine.devices = read_pci_devices(tree, machine.hcas);
  add_node_facts(tree.live() ? live_node_facts()
                             : parse_node_facts(tree.text(node_facts_file, node_facts_limit).value_or("")),
                 machine);
  read_speeds(tree, machine.interfaces);
  fill_in_speeds(machine);
  machine.complete = tree.complete();
  return machine;
}

}  // namespace lockstep::spank
