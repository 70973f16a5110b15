#include "command/node.h"

#include <fmt/format.h>
#include <limits.h>
#include <unistd.h>

#include <array>

#include "machine/node_facts.h"

namespace lockstep::spank {

namespace {

constexpr std::chrono::seconds patience{10};

std::string own_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  const std::string whole = name.data();
  return whole.substr(0, whole.find('.'));
}

std::string name_of(const NodeRoot& root, const Environment& environment) {
  if (!root.captured()) return find(environment, "SLURMD_NODENAME").value_or(own_name());
  const std::string name = read_node_facts(root.path()).node;
  return name.empty() ? "node" : name;
}

}  // namespace

Node look_at_node(NodeRoot root, const std::optional<std::string>& name, const Environment& environment,
                  const std::function<void(const Reading&)>& observe) {
  Node node{std::move(root), "", {}};
  node.name = name ? *name : name_of(node.root, environment);
  const auto since = [](std::chrono::nanoseconds begin, std::chrono::nanoseconds now) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(now - begin);
  };
  const auto cpu = thread_cpu_time();
  const auto wall = wall_time();
  node.machine = read_machine({node.root.path(), patience, observe, patience});
  node.reading = since(cpu, thread_cpu_time());
  node.waiting = since(wall, wall_time());
  return node;
}

std::optional<NcclConf> nccl_conf_of(const NodeRoot& root) {
  const auto path = root.find("/etc/nccl.conf");
  auto conf = path ? read_nccl_conf(*path) : std::nullopt;
  if (conf) conf->file = "/etc/nccl.conf";
  return conf;
}

std::string count_of(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string hardware_of(const Machine& machine) {
  return fmt::format("{}, {}, {}", count_of(machine.gpus().size(), "GPU"),
                     count_of(machine.hcas.size(), "HCA"), count_of(machine.interfaces.size(), "interface"));
}

}  // namespace lockstep::spank
