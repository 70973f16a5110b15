#include "plan/interface_base.h"

#include <algorithm>
#include <array>
#include <optional>

namespace lockstep::spank {

namespace {

using Kind = InterfaceBase::Kind;

constexpr const char* open_vswitch = "ovs-system";
constexpr int most_levels = 8;  // a bridge on a VLAN on a bond on devices has four
constexpr std::array<std::string_view, 6> overlays = {"vxlan", "geneve", "wireguard",
                                                      "gre",   "ip6gre", "l2tpeth"};

bool is_overlay(const Interface& interface) {
  return std::find(overlays.begin(), overlays.end(), interface.kind) != overlays.end();
}

bool is_device(const Interface& interface) {
  return interface.hardware || interface.bond;
}

// Of the fastest device below; nothing where there is none.
std::optional<std::int64_t> speed_below(const Interface& interface, const Machine& machine, int level = 0) {
  if (is_device(interface)) return interface.speed_mbps;
  if (is_overlay(interface) || interface.tunnel || level == most_levels) return std::nullopt;
  std::optional<std::int64_t> fastest;
  for (const std::string& name : interface.lower) {
    const Interface* lower = find_interface(machine, name);
    if (lower == nullptr) continue;
    if (const auto speed = speed_below(*lower, machine, level + 1)) {
      fastest = std::max(fastest.value_or(0), *speed);
    }
  }
  return fastest;
}

// The bridges of Open vSwitch have no links, and all of them share the device's.
std::optional<std::int64_t> speed_by_open_vswitch(const Interface& interface, const Interface& datapath,
                                                  const Machine& machine) {
  return interface.name.starts_with("br") ? speed_below(datapath, machine) : std::nullopt;
}

}  // namespace

InterfaceBase base_of(const Interface& interface, const Machine& machine) {
  if (is_device(interface)) {
    return {interface.kind == "wlan" ? Kind::wireless : Kind::hardware, true, interface.speed_mbps};
  }
  const auto with = [&](Kind kind) { return InterfaceBase{kind, false, interface.speed_mbps}; };
  if (is_overlay(interface)) return with(Kind::overlay);
  const Interface* datapath = find_interface(machine, open_vswitch);
  const bool bare = interface.lower.empty() && !interface.bridge && interface.kind.empty();
  const bool on_open_vswitch = datapath != nullptr && bare;
  const auto speed = on_open_vswitch ? speed_by_open_vswitch(interface, *datapath, machine)
                                     : speed_below(interface, machine);
  if (speed) return {Kind::hardware, false, *speed == 0 ? interface.speed_mbps : *speed};
  if (on_open_vswitch) return with(Kind::overlay);
  return with(interface.bridge ? Kind::node_only : Kind::unknown);
}

const Interface* find_interface(const Machine& machine, const std::string& name) {
  const auto found = std::find_if(machine.interfaces.begin(), machine.interfaces.end(),
                                  [&](const Interface& each) { return each.name == name; });
  return found == machine.interfaces.end() ? nullptr : &*found;
}

bool is_port(const Interface& interface, const Machine& machine) {
  const Interface* master = find_interface(machine, interface.master);
  return master != nullptr && (master->bond || master->bridge || master->name == open_vswitch);
}

}  // namespace lockstep::spank
