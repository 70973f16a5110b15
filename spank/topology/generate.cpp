#include "topology/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <set>

#include "core/cpu_set.h"

namespace lockstep::spank {

namespace {

// NCCL's table has 256 places, and it adds GPUs, NVLinks and networks of its own to what the file says.
constexpr std::size_t max_pci_elements = 128;
constexpr std::size_t max_value = 253;

struct PciElement {
  const PciDevice* device = nullptr;  // null: a bridge of which nothing but its bus id is known
  std::set<std::string> below;        // bus ids, in NCCL's order
};

bool is_network(const PciDevice& device) {
  return device.device_class.starts_with("0x02");
}

// What sysfs gives is plain; a captured tree may hold anything.
bool can_be_written(const std::string& value) {
  return !value.empty() && value.size() <= max_value && value.find_first_of("\"'<>&") == std::string::npos &&
         std::all_of(value.begin(), value.end(), [](char c) { return c >= ' ' && c < '\x7f'; });
}

std::string attribute(std::string_view name, const std::string& value) {
  return can_be_written(value) ? fmt::format(" {}=\"{}\"", name, value) : "";
}

// "32.0 GT/s PCIe" -> 32; 0 where the text has no number.
double number_of(const std::string& text) {
  return std::strtod(text.c_str(), nullptr);
}

// What a link can do is what its lesser end can; an end that sysfs does not know about (0) has no say.
double lesser(double device, double port) {
  if (device <= 0 || port <= 0) return std::max({device, port, 0.0});
  return std::min(device, port);
}

// The word that NCCL's dictionary has for it. Empty where there is none: NCCL would take an unknown word for
// 8 GT/s in silence, and looks for itself where the attribute is missing.
std::string link_speed(const PciDevice& device, const PciDevice* port) {
  struct Word {
    double transfers;
    const char* text;
  };
  constexpr std::array<Word, 6> words = {{{2.5, "2.5 GT/s PCIe"},
                                          {5, "5.0 GT/s PCIe"},
                                          {8, "8.0 GT/s PCIe"},
                                          {16, "16.0 GT/s PCIe"},
                                          {32, "32.0 GT/s PCIe"},
                                          {64, "64.0 GT/s PCIe"}}};
  const double transfers =
      lesser(number_of(device.link_speed), port != nullptr ? number_of(port->link_speed) : 0);
  for (const Word& word : words) {
    if (transfers == word.transfers) return word.text;
  }
  return {};
}

// In lanes; empty where not known.
std::string link_width(const PciDevice& device, const PciDevice* port) {
  constexpr double most_lanes = 32;
  const double width =
      lesser(number_of(device.link_width), port != nullptr ? number_of(port->link_width) : 0);
  return width >= 1 && width <= most_lanes ? fmt::format("{:.0f}", width) : "";
}

// NCCL's names; others as they are.
std::string arch_of(const std::string& machine) {
  if (machine == "aarch64") return "arm64";
  return machine.starts_with("ppc64") ? "ppc64" : machine;
}

// NCCL adds the extended family of CPUID shifted by four bits, Linux adds it as it is: AMD's 25 is NCCL's
// 175.
int nccl_family(int linux_family) {
  constexpr int base = 15;
  return linux_family > base ? base + ((linux_family - base) << 4) : linux_family;
}

class Generator {
 public:
  explicit Generator(const Machine& machine) : machine_(machine) {
    for (const PciDevice* gpu : machine.gpus()) add(*gpu);
    for (const Hca& hca : machine.hcas) {
      if (const PciDevice* device = machine.device(hca.pci)) add(*device);
    }
    for (const PciDevice& device : machine.devices) {
      if (is_network(device)) add(device);
    }
  }

  std::string write() const {
    std::map<int, std::set<std::string>> cpus;
    for (const NumaNode& node : machine_.numa_nodes) cpus[node.id];
    for (const std::string& busid : roots_) cpus[numa_of(busid)].insert(busid);
    std::string text = "<system version=\"1\">\n";
    for (const auto& [id, below] : cpus) write_cpu(text, id, below);
    return text + "</system>\n";
  }

 private:
  // As NCCL itself walks up: from a device past the port above it to the bridge above that, so that a PCI
  // switch is one element. Distances (PIX, PXB) count these elements.
  static std::vector<std::string> bridges_above(const PciDevice& device) {
    std::vector<std::string> bridges;
    for (std::size_t i = device.upstream.size() % 2; i + 1 < device.upstream.size(); i += 2) {
      bridges.push_back(device.upstream[i]);
    }
    return bridges;
  }

  void add(const PciDevice& device) {
    if (!can_be_written(device.busid) || elements_.contains(device.busid)) return;
    std::vector<std::string> path = bridges_above(device);
    path.push_back(device.busid);
    const auto is_new = [&](const std::string& busid) { return !elements_.contains(busid); };
    const auto more = static_cast<std::size_t>(std::count_if(path.begin(), path.end(), is_new));
    if (elements_.size() + more > max_pci_elements || !std::all_of(path.begin(), path.end(), can_be_written))
      return;
    roots_.insert(path.front());
    for (std::size_t i = 0; i < path.size(); ++i) {
      elements_[path[i]].device = machine_.device(path[i]);
      if (i > 0) elements_[path[i - 1]].below.insert(path[i]);
    }
  }

  // Of the first device from here down that knows; the first NUMA node where none does.
  int numa_of(const std::string& busid) const {
    const int first = machine_.numa_nodes.empty() ? 0 : machine_.numa_nodes.front().id;
    for (std::string at = busid;;) {
      const PciElement& element = elements_.at(at);
      if (element.device != nullptr && exists(element.device->numa)) return element.device->numa;
      if (element.below.empty()) return first;
      at = *element.below.begin();
    }
  }

  bool exists(int numa) const {
    return std::any_of(machine_.numa_nodes.begin(), machine_.numa_nodes.end(),
                       [&](const NumaNode& node) { return node.id == numa; });
  }

  // Without groups of zeros in front: a kernel that is built for many CPUs writes more of them than NCCL can
  // read.
  std::string affinity_of(int id) const {
    for (const NumaNode& node : machine_.numa_nodes) {
      if (node.id != id || !parse_cpu_map(node.cpu_map)) continue;
      std::string_view map = node.cpu_map;
      while (map.starts_with("00000000,")) map.remove_prefix(9);
      return std::string(map);
    }
    return {};
  }

  void write_cpu(std::string& text, int id, const std::set<std::string>& below) const {
    text += fmt::format("  <cpu numaid=\"{}\"{}{}{}", id, attribute("affinity", affinity_of(id)),
                        attribute("arch", arch_of(machine_.arch)), attribute("vendor", machine_.cpu_vendor));
    if (machine_.cpu_family >= 0 && machine_.cpu_model >= 0) {
      text += fmt::format(" familyid=\"{}\" modelid=\"{}\"", nccl_family(machine_.cpu_family),
                          machine_.cpu_model);
    }
    text += ">\n";
    for (const std::string& busid : below) write_pci(text, busid, 4);
    text += "  </cpu>\n";
  }

  // As deep as there are elements, at most max_pci_elements.
  void write_pci(std::string& text, const std::string& busid, std::size_t indentation) const {
    const PciElement& element = elements_.at(busid);
    text += fmt::format("{:{}}<pci busid=\"{}\"{}", "", indentation, busid, attributes_of(element.device));
    if (element.below.empty()) {
      text += "/>\n";
      return;
    }
    text += ">\n";
    for (const std::string& child : element.below) write_pci(text, child, indentation + 2);
    text += fmt::format("{:{}}</pci>\n", "", indentation);
  }

  std::string attributes_of(const PciDevice* device) const {
    if (device == nullptr) return attribute("class", "0x060400");
    const PciDevice* port = device->upstream.empty() ? nullptr : machine_.device(device->upstream.back());
    return attribute("class", device->device_class) + attribute("vendor", device->vendor) +
           attribute("device", device->device) + attribute("subsystem_vendor", device->subsystem_vendor) +
           attribute("subsystem_device", device->subsystem_device) +
           attribute("link_speed", link_speed(*device, port)) +
           attribute("link_width", link_width(*device, port));
  }

  const Machine& machine_;
  std::map<std::string, PciElement> elements_;
  std::set<std::string> roots_;
};

}  // namespace

std::string generate_topology(const Machine& machine) {
  if (machine.gpus().empty() && machine.hcas.empty()) return {};
  return Generator(machine).write();
}

}  // namespace lockstep::spank
