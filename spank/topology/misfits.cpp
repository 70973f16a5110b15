#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <span>

#include "core/cpu_set.h"
#include "core/text.h"
#include "step/clean_text.h"
#include "topology/nccl_xml.h"

namespace lockstep::spank {

namespace {

enum class Kind { gpu, network, bridge, not_told, other };

struct Entry {
  const XmlNode* pci;
  const XmlNode* cpu;
  Kind kind;
  std::string busid;
};

bool has_child(const XmlNode& node, std::string_view name) {
  return std::any_of(node.children.begin(), node.children.end(),
                     [&](const XmlNode& child) { return child.name == name; });
}

// By the children first: a file may leave out the class, which NCCL then takes from sysfs.
Kind kind_of(const XmlNode& pci) {
  if (has_child(pci, "gpu")) return Kind::gpu;
  if (has_child(pci, "nic")) return Kind::network;
  if (has_child(pci, "pci")) return Kind::bridge;
  const std::string* device_class = pci.attribute("class");
  if (device_class == nullptr || device_class->empty()) return Kind::not_told;
  if (device_class->starts_with("0x03")) return Kind::gpu;
  if (device_class->starts_with("0x02")) return Kind::network;
  return device_class->starts_with("0x0604") ? Kind::bridge : Kind::other;
}

// As deep as a file can nest, at most 255.
void collect(const XmlNode& parent, const XmlNode& cpu, std::vector<Entry>& entries) {
  for (const XmlNode& node : parent.children) {
    if (node.name != "pci") continue;
    const std::string* busid = node.attribute("busid");
    entries.push_back({&node, &cpu, kind_of(node), busid != nullptr ? *busid : ""});
    collect(node, cpu, entries);
  }
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// "a, b, c and 5 more".
std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t shown = 4;
  const std::size_t count = names.size() > shown ? shown - 1 : names.size();
  std::string text = fmt::format("{}", fmt::join(std::span(names).first(count), ", "));
  if (count < names.size()) text += fmt::format(" and {} more", names.size() - count);
  return text;
}

class Comparison {
 public:
  Comparison(const XmlNode& system, const Machine& machine) : system_(system), machine_(machine) {
    for (const XmlNode& cpu : system.children) {
      if (cpu.name == "cpu") collect(cpu, cpu, entries_);
    }
    if (machine.complete) {
      look_for_classes();
      look_for_strangers(Kind::gpu, "GPU");
      look_for_forgotten_gpus();
      look_for_strangers(Kind::network, "network device");
      look_for_strangers(Kind::not_told, "device");
      look_at_capitals();
      look_at_numa_nodes();
    }
    look_at_affinity();
  }

  std::vector<std::string> take() && {
    for (std::string& line : found_) line = clean_text(line);
    return std::move(found_);
  }

 private:
  bool here(const std::string& busid) const { return machine_.device(busid) != nullptr; }

  // NCCL needs the class of each element and takes it from sysfs where the file has none; a virtual bridge is
  // not in sysfs, and ncclCommInit fails.
  void look_for_classes() {
    for (const Entry& entry : entries_) {
      if (entry.kind == Kind::bridge && entry.pci->attribute("class") == nullptr &&
          !here(lower(entry.busid))) {
        found_.push_back(
            fmt::format("gives no class for bridge {} in line {}, which this node has not: NCCL will fail",
                        entry.busid, entry.pci->line));
      }
    }
  }

  void look_for_strangers(Kind kind, std::string_view what) {
    std::vector<std::string> strangers;
    std::size_t all = 0;
    for (const Entry& entry : entries_) {
      if (entry.kind != kind) continue;
      ++all;
      if (!here(lower(entry.busid))) strangers.push_back(entry.busid);
    }
    if (strangers.size() == 1) {
      found_.push_back(fmt::format("names {} {}, which this node has not", what, strangers.front()));
    } else if (!strangers.empty()) {
      found_.push_back(
          fmt::format("names {} {}s, {} of which this node has not: {}", all, what,
                      strangers.size() == all ? std::string("all") : std::to_string(strangers.size()),
                      listed(strangers)));
    }
  }

  void look_for_forgotten_gpus() {
    std::set<std::string> named;
    for (const Entry& entry : entries_) named.insert(lower(entry.busid));
    const std::vector<const PciDevice*> gpus = machine_.gpus();
    std::vector<std::string> forgotten;
    for (const PciDevice* gpu : gpus) {
      if (!named.contains(gpu->busid)) forgotten.push_back(gpu->busid);
    }
    if (forgotten.size() == 1) {
      found_.push_back(fmt::format("lacks GPU {} of this node", forgotten.front()));
    } else if (!forgotten.empty()) {
      found_.push_back(fmt::format("lacks {} of this node's {} GPUs: {}", forgotten.size(), gpus.size(),
                                   listed(forgotten)));
    }
  }

  // NCCL compares bus ids letter by letter with those of CUDA and sysfs, which are lower case.
  void look_at_capitals() {
    for (const Entry& entry : entries_) {
      if (entry.busid != lower(entry.busid) && here(lower(entry.busid))) {
        found_.push_back(
            fmt::format("writes bus id {} in capitals: NCCL takes it for another device", entry.busid));
      }
    }
  }

  const NumaNode* numa_node(std::int64_t id) const {
    for (const NumaNode& node : machine_.numa_nodes) {
      if (node.id == id) return &node;
    }
    return nullptr;
  }

  static std::string numa_id(const XmlNode& cpu) {
    const std::string* text = cpu.attribute("numaid");
    return text != nullptr ? *text : "";
  }

  // -1 is NCCL's own name for a CPU that it knows nothing of.
  void look_at_numa_nodes() {
    if (machine_.numa_nodes.empty()) return;
    for (const XmlNode& cpu : system_.children) {
      const std::string id = numa_id(cpu);
      const auto number = parse_int(id);
      if (number != -1 && (!number || numa_node(*number) == nullptr)) {
        found_.push_back(fmt::format("names NUMA node {}, but this node has {}", id, numa_range()));
      }
    }
  }

  std::string numa_range() const {
    std::vector<int> ids;
    for (const NumaNode& node : machine_.numa_nodes) ids.push_back(node.id);
    return fmt::format("{}{}", ids.size() == 1 ? "only " : "", fmt::join(ids, ", "));
  }

  void look_at_affinity() {
    std::map<const XmlNode*, CpuSet> affinities;
    for (const XmlNode& cpu : system_.children) {
      if (const auto set = affinity_of(cpu)) affinities[&cpu] = *set;
    }
    for (const Entry& entry : entries_) {
      const auto affinity = affinities.find(entry.cpu);
      if (affinity != affinities.end()) compare_local_cpus(entry, affinity->second);
    }
  }

  // What the file says of the CPUs of a NUMA node, or what the node itself says.
  std::optional<CpuSet> affinity_of(const XmlNode& cpu) {
    const auto id = parse_int(numa_id(cpu));
    const NumaNode* node = id ? numa_node(*id) : nullptr;
    const auto own = node != nullptr ? parse_cpu_list(node->cpus) : std::nullopt;
    const std::string* map = cpu.attribute("affinity");
    if (map == nullptr) return own;
    const auto told = parse_cpu_map(*map);
    if (!told) {
      found_.push_back(
          fmt::format("gives NUMA node {} the affinity \"{}\", which is no map of CPUs "
                      "(00ffffff,00ffffff)",
                      numa_id(cpu), *map));
    } else if (own && own->any() && told->any() && (*told & *own).none()) {
      found_.push_back(
          fmt::format("gives NUMA node {} other CPUs than it has here ({})", numa_id(cpu), node->cpus));
    } else if (const NumaNode* other = own ? another_with(*told, *own) : nullptr) {
      found_.push_back(fmt::format("gives NUMA node {} CPUs of NUMA node {}", numa_id(cpu), other->id));
    }
    return told;
  }

  const NumaNode* another_with(const CpuSet& told, const CpuSet& own) const {
    for (const NumaNode& node : machine_.numa_nodes) {
      const auto cpus = parse_cpu_list(node.cpus);
      if (cpus && (*cpus & told & ~own).any()) return &node;
    }
    return nullptr;
  }

  // A VM that hides where a device is shows all CPUs as local, or none.
  void compare_local_cpus(const Entry& entry, const CpuSet& affinity) {
    const PciDevice* device = machine_.device(entry.busid);
    if (device == nullptr || device->is_bridge() || affinity.none()) return;
    const auto local = parse_cpu_list(device->local_cpus);
    if (!local || local->none() || (*local & affinity).any()) return;
    found_.push_back(fmt::format("puts {} at NUMA node {}, but its CPUs here are {}", entry.busid,
                                 numa_id(*entry.cpu), device->local_cpus));
  }

  const XmlNode& system_;
  const Machine& machine_;
  std::vector<Entry> entries_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> misfits(const XmlNode& system, const Machine& machine) {
  return Comparison(system, machine).take();
}

}  // namespace lockstep::spank
