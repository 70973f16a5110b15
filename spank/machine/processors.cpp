// CPUs and NUMA nodes from proc/cpuinfo and sys/devices/system/node.
#include <fmt/format.h>

#include "core/text.h"
#include "machine/parts.h"

namespace lockstep::spank {

namespace {

// A node with hundreds of CPUs has a cpuinfo of a megabyte; the first CPU's block is enough.
constexpr std::size_t cpuinfo_limit = 8192;

void read_first_cpu(Tree& tree, Machine& machine) {
  const std::string text = tree.text("proc/cpuinfo", cpuinfo_limit).value_or("");
  for (const std::string& line : split(text, '\n')) {
    if (trim(line).empty()) return;
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string_view key = trim(std::string_view(line).substr(0, colon));
    const std::string_view value = trim(std::string_view(line).substr(colon + 1));
    if (key == "vendor_id") machine.cpu_vendor = value;
    if (key == "cpu family") machine.cpu_family = static_cast<int>(parse_int(value).value_or(-1));
    if (key == "model") machine.cpu_model = static_cast<int>(parse_int(value).value_or(-1));
    if (key == "CPU implementer") machine.arch = "arm64";
    if (key == "cpu" && value.starts_with("POWER")) machine.arch = "ppc64";
  }
}

}  // namespace

void read_processors(Tree& tree, Machine& machine) {
  read_first_cpu(tree, machine);
  const std::string nodes = "sys/devices/system/node";
  for (const std::string& name : tree.names(nodes)) {
    if (!name.starts_with("node")) continue;
    const auto id = parse_int(std::string_view(name).substr(4));
    if (!id) continue;
    const std::string at = fmt::format("{}/{}", nodes, name);
    machine.numa_nodes.push_back({static_cast<int>(*id), tree.text(at + "/cpulist").value_or(""),
                                  tree.text(at + "/cpumap").value_or("")});
  }
}

}  // namespace lockstep::spank
