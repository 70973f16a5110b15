// PCI devices that matter to NCCL, from sys/bus/pci/devices.
#include <algorithm>
#include <map>
#include <set>

#include "machine/names.h"
#include "machine/parts.h"

namespace lockstep::spank {

namespace {

constexpr std::size_t depth_limit = 32;  // bridges above a device

// Domains may be wider than four digits; wider ones come last.
bool bus_id_less(const PciDevice& left, const PciDevice& right) {
  if (left.busid.size() != right.busid.size()) return left.busid.size() < right.busid.size();
  return left.busid < right.busid;
}

PciDevice read_device(Tree& tree, const std::string& busid, const std::string& device_class) {
  PciDevice device;
  device.busid = busid;
  device.device_class = device_class;
  const std::string at = tree.follow("sys/bus/pci/devices/" + busid);
  const auto text = [&](const char* name) { return tree.text(at + "/" + name).value_or(""); };
  device.vendor = text("vendor");
  device.device = text("device");
  device.subsystem_vendor = text("subsystem_vendor");
  device.subsystem_device = text("subsystem_device");
  device.numa = static_cast<int>(tree.number(at + "/numa_node").value_or(-1));
  device.local_cpus = text("local_cpulist");
  device.link_speed = text("max_link_speed");
  device.link_width = text("max_link_width");
  device.upstream = bus_ids_in(at);
  if (!device.upstream.empty() && device.upstream.back() == busid) device.upstream.pop_back();
  if (device.upstream.size() > depth_limit) device.upstream.resize(depth_limit);
  return device;
}

}  // namespace

std::vector<PciDevice> read_pci_devices(Tree& tree, const std::vector<Hca>& hcas) {
  std::map<std::string, std::string> classes;
  for (const std::string& busid : tree.names("sys/bus/pci/devices")) {
    if (!is_bus_id(busid)) continue;
    const std::string device_class = tree.text("sys/bus/pci/devices/" + busid + "/class").value_or("");
    if (!device_class.empty()) classes.emplace(busid, device_class);
  }
  const auto is_hca = [&](const std::string& busid) {
    return std::any_of(hcas.begin(), hcas.end(), [&](const Hca& hca) { return hca.pci == busid; });
  };

  std::vector<PciDevice> devices;
  std::set<std::string> bridges;
  // Display and 3D controllers first: should the time run out, the GPUs are known.
  for (const std::string_view kind : {"0x03", "0x02"}) {
    for (const auto& [busid, device_class] : classes) {
      if (!device_class.starts_with(kind)) continue;
      if (kind == "0x02" && !is_hca(busid) && tree.has_folder("sys/bus/pci/devices/" + busid + "/physfn")) {
        continue;
      }
      devices.push_back(read_device(tree, busid, device_class));
      bridges.insert(devices.back().upstream.begin(), devices.back().upstream.end());
    }
  }
  for (const std::string& busid : bridges) {
    const auto found = classes.find(busid);
    if (found != classes.end()) devices.push_back(read_device(tree, busid, found->second));
  }
  std::sort(devices.begin(), devices.end(), bus_id_less);
  return devices;
}

}  // namespace lockstep::spank
