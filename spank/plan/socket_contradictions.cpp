// Interfaces that cannot carry what they are named for.
#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "plan/contradictions.h"
#include "plan/interface_choice.h"
#include "site/in_quotes.h"

namespace lockstep::spank {

namespace {

// NCCL takes a list of prefixes, "=" in front of it for whole names, "^" for what to leave out.
bool is_loopback_only(std::string_view interfaces) {
  if (interfaces.starts_with('^')) return false;
  if (interfaces.starts_with('=')) interfaces.remove_prefix(1);
  const auto names = split(interfaces, ',');
  return !names.empty() && std::all_of(names.begin(), names.end(), [](const std::string& name) {
    return name.substr(0, name.find(':')) == "lo";
  });
}

void look_at_loopback(const Facts& facts, Settings& settings) {
  if (facts.step.nodes < 2) return;
  for (const std::string_view variable : {"NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"}) {
    const Decision* decision = settings.find(variable);
    if (decision != nullptr && is_loopback_only(*decision->value)) {
      settings.warn(fmt::format("{}: the loopback reaches no other of the {} nodes", setting(*decision),
                                facts.step.nodes),
                    undo(*decision));
    }
  }
}

enum class Reach { none, link_local, others };

// The best that addresses of this family offer on any of the interfaces.
Reach reach_of(const std::vector<const Interface*>& interfaces, bool ipv6) {
  Reach reach = Reach::none;
  for (const Interface* interface : interfaces) {
    for (const Address& address : interface->addresses) {
      if (address.ipv6 == ipv6)
        reach = std::max(reach, address.link_local ? Reach::link_local : Reach::others);
    }
  }
  return reach;
}

// NCCL looks past interfaces without an address of the family.
void look_at_family(const Facts& facts, Settings& settings) {
  const Decision* family = settings.find("NCCL_SOCKET_FAMILY");
  const Decision* names = settings.find("NCCL_SOCKET_IFNAME");
  if (family == nullptr || names == nullptr || !facts.machine.complete) return;
  const bool ipv6 = *family->value == "AF_INET6";
  if (!ipv6 && *family->value != "AF_INET") return;
  const auto selected = selected_by(*names->value, facts.machine);
  // That nothing is selected is told where the interface is chosen.
  if (!selected || selected->empty()) return;
  const Reach reach = reach_of(*selected, ipv6);
  if (reach == Reach::others || (reach == Reach::link_local && facts.step.nodes < 2)) return;
  const char* what = ipv6 ? "IPv6" : "IPv4";
  settings.warn(
      fmt::format("{}, but what {} selects has {}", setting(*family), setting(*names),
                  reach == Reach::none
                      ? fmt::format("no {} address: NCCL would find no socket interface", what)
                      : fmt::format("link-local {} addresses only: they reach no other node", what)),
      undo(*family));
}

bool is_on_node(const Machine& machine, const std::string& name) {
  return std::any_of(machine.interfaces.begin(), machine.interfaces.end(),
                     [&](const Interface& interface) { return interface.name == name; });
}

// Other libraries take whole names and nothing else.
void look_at_plain_names(const Facts& facts, Settings& settings) {
  for (const std::string_view variable : {"GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME"}) {
    const Decision* decision = settings.find(variable);
    if (decision == nullptr || decision->value->empty()) continue;
    const std::string& value = *decision->value;
    if (value.front() == '=' || value.front() == '^') {
      settings.warn(
          fmt::format("{}: '{}' is NCCL's alone; this variable takes the plain name of an interface",
                      setting(*decision), value.front()),
          "write the name alone, or " + undo(*decision));
      continue;
    }
    if (!facts.machine.complete || facts.machine.interfaces.empty()) continue;
    const auto names = split(value, ',');
    const auto missing = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
      return !is_on_node(facts.machine, name);
    });
    if (missing == names.end()) continue;
    settings.warn(fmt::format("{}: this node has no interface {}, and this variable takes whole names",
                              setting(*decision), in_quotes(*missing)),
                  "correct the name, or " + undo(*decision));
  }
}

}  // namespace

void look_at_sockets(const Facts& facts, Settings& settings) {
  look_at_loopback(facts, settings);
  look_at_family(facts, settings);
  look_at_plain_names(facts, settings);
}

}  // namespace lockstep::spank
