// Invented nodes for the tests of topology files.
#pragma once

#include <string>

#include "machine/machine.h"

namespace lockstep::spank::test {

inline PciDevice pci_device(const std::string& busid, const std::string& device_class, int numa) {
  PciDevice device;
  device.busid = busid;
  device.device_class = device_class;
  device.vendor = device_class.starts_with("0x03") ? "0x10de" : "0x15b3";
  device.device = device_class.starts_with("0x03") ? "0x2330" : "0x1021";
  device.numa = numa;
  device.local_cpus = numa == 0 ? "0-31,64-95" : numa == 1 ? "32-63,96-127" : "0-127";
  device.link_speed = "32.0 GT/s PCIe";
  device.link_width = "16";
  return device;
}

inline PciDevice bridge(const std::string& busid, int numa, std::vector<std::string> upstream) {
  PciDevice device = pci_device(busid, "0x060400", numa);
  device.vendor = "0x1000";
  device.device = "0xc030";
  device.upstream = std::move(upstream);
  return device;
}

// Two sockets of 64 CPUs with hyperthreads, no devices.
inline Machine empty_machine() {
  Machine machine;
  machine.cpu_vendor = "GenuineIntel";
  machine.cpu_family = 6;
  machine.cpu_model = 143;
  machine.numa_nodes = {{0, "0-31,64-95", "00000000,ffffffff,00000000,ffffffff"},
                        {1, "32-63,96-127", "ffffffff,00000000,ffffffff,00000000"}};
  return machine;
}

// One GPU and one HCA behind a PCI switch at each socket: root port, the switch's upper port, its lower port,
// device.
inline Machine two_socket_machine() {
  Machine machine = empty_machine();
  for (const int socket : {0, 1}) {
    const std::string bus = socket == 0 ? "0000:1" : "0000:9";
    const std::string root = bus + "0:01.0";
    const std::string upper = bus + "1:00.0";
    const std::string left = bus + "2:00.0";
    const std::string right = bus + "2:01.0";
    PciDevice gpu = pci_device(bus + "8:00.0", "0x030200", socket);
    gpu.upstream = {root, upper, left};
    PciDevice hca = pci_device(bus + "9:00.0", "0x020700", socket);
    hca.upstream = {root, upper, right};
    machine.devices.push_back(bridge(root, socket, {}));
    machine.devices.push_back(bridge(upper, socket, {root}));
    machine.devices.push_back(bridge(left, socket, {root, upper}));
    machine.devices.push_back(bridge(right, socket, {root, upper}));
    machine.devices.push_back(gpu);
    machine.devices.push_back(hca);
    Hca mlx5;
    mlx5.name = "mlx5_" + std::to_string(socket);
    mlx5.pci = hca.busid;
    machine.hcas.push_back(mlx5);
  }
  return machine;
}

}  // namespace lockstep::spank::test
