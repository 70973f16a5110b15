#include "plan/interface_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "machine/names.h"
#include "plan/name_list.h"
#include "site/glob.h"

namespace lockstep::spank {

namespace {

constexpr int infiniband_type = 32;
constexpr std::array<std::string_view, 11> container_bridges = {
    "docker", "br-", "cni", "flannel", "cali", "virbr", "podman", "kube-", "lxc", "cilium", "weave"};
constexpr std::array<std::string_view, 8> tunnels = {"tun", "tap",  "ip6tnl", "sit",
                                                     "gre", "ipip", "wg",     "ip6gre"};

template <typename Names>
bool begins_with_any(const std::string& name, const Names& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

bool is_infiniband(const Interface& interface) {
  return interface.type == infiniband_type || interface.name.starts_with("ib");
}

bool is_slingshot(const Interface& interface) {
  return interface.name.starts_with("hsn");
}

const Interface* find_interface(const Machine& machine, const std::string& name) {
  const auto found = std::find_if(machine.interfaces.begin(), machine.interfaces.end(),
                                  [&](const Interface& each) { return each.name == name; });
  return found == machine.interfaces.end() ? nullptr : &*found;
}

// Why the interface is out by what it is; empty: it is not.
std::string wrong_kind(const Interface& interface) {
  if (begins_with_any(interface.name, container_bridges)) return "container bridge";
  if (interface.name.starts_with("veth")) return "container's link";
  if (interface.tunnel || begins_with_any(interface.name, tunnels)) return "tunnel";
  return {};
}

// Why the interface is out by its state; empty: it is not.
std::string wrong_state(const Interface& interface, const Machine& machine) {
  if (!interface.up) return "down";
  const Interface* master = find_interface(machine, interface.master);
  if (master != nullptr && (master->bond || master->bridge)) return "port of " + master->name;
  if (interface.addresses.empty()) return "no address";
  if (!has_usable_address(interface)) return "only link-local addresses";
  return {};
}

// The place of the first glob that matches; the number of globs where none does.
std::size_t place_in_profile(const Interface& interface, const Profile& profile) {
  const auto found =
      std::find_if(profile.interfaces.begin(), profile.interfaces.end(),
                   [&](const std::string& glob) { return glob_matches(glob, interface.name); });
  return static_cast<std::size_t>(found - profile.interfaces.begin());
}

std::string why_out(const Interface& interface, const Machine& machine, const Profile& profile) {
  const auto& excluded = profile.excluded_interfaces;
  if (std::any_of(excluded.begin(), excluded.end(),
                  [&](const std::string& glob) { return glob_matches(glob, interface.name); })) {
    return "excluded by the profile";
  }
  const auto& wanted = profile.interfaces;
  const bool by_name = std::find(wanted.begin(), wanted.end(), interface.name) != wanted.end();
  const std::string kind = by_name ? "" : wrong_kind(interface);
  return kind.empty() ? wrong_state(interface, machine) : kind;
}

enum class Fabric { infiniband, slingshot, other };

Fabric fabric_of(const Interface& interface) {
  if (is_infiniband(interface)) return Fabric::infiniband;
  return is_slingshot(interface) ? Fabric::slingshot : Fabric::other;
}

// A bond counts as physical: its ports are.
bool is_virtual(const Interface& interface) {
  return interface.pci.empty() && !interface.bond;
}

struct Candidate {
  const Interface* interface;
  std::size_t place;  // in the profile's list
  Fabric fabric;
  auto rank() const { return std::tuple(place, fabric, -interface->speed_mbps, is_virtual(*interface)); }
};

bool better(const Candidate& left, const Candidate& right) {
  if (left.rank() != right.rank()) return left.rank() < right.rank();
  return natural_less(left.interface->name, right.interface->name);
}

std::string with_speed(const std::string& text, const Interface& interface) {
  if (interface.speed_mbps == 0) return text;
  return fmt::format("{}, {:g} Gb/s", text, static_cast<double>(interface.speed_mbps) / 1000);
}

std::string kind_of(const Candidate& best) {
  if (best.fabric == Fabric::infiniband) return with_speed("InfiniBand", *best.interface);
  return with_speed(best.fabric == Fabric::slingshot ? "Slingshot" : "other", *best.interface);
}

std::string why_chosen(const Candidate& best, std::size_t candidates, const Profile& profile) {
  const Interface& interface = *best.interface;
  if (best.place < profile.interfaces.size()) {
    return with_speed(fmt::format("the profile's interfaces ({})", profile.interfaces[best.place]),
                      interface);
  }
  if (best.fabric == Fabric::infiniband) return with_speed("InfiniBand", interface);
  if (best.fabric == Fabric::slingshot) return with_speed("Slingshot", interface);
  if (candidates == 1) return with_speed("the only one that reaches other nodes", interface);
  return interface.speed_mbps == 0 ? "the first by name, no speed is known"
                                   : with_speed("the fastest", interface);
}

// Why a candidate came after the best.
std::string why_not(const Candidate& other, const Candidate& best) {
  if (other.place != best.place) return "later in the profile";
  if (other.fabric != best.fabric) {
    return best.fabric == Fabric::infiniband ? "not InfiniBand" : "not Slingshot";
  }
  if (other.interface->speed_mbps == 0 && best.interface->speed_mbps != 0) return "speed not known";
  if (other.interface->speed_mbps != best.interface->speed_mbps) return "slower";
  if (is_virtual(*other.interface) != is_virtual(*best.interface)) return "virtual";
  return "as fast, later by name";
}

}  // namespace

bool has_usable_address(const Interface& interface) {
  return std::any_of(interface.addresses.begin(), interface.addresses.end(),
                     [](const Address& address) { return !address.link_local; });
}

InterfaceChoice choose_interface(const Machine& machine, const Profile& profile) {
  InterfaceChoice choice;
  std::vector<Candidate> candidates;
  std::vector<PassedOver> out;
  for (const Interface& interface : machine.interfaces) {
    if (interface.loopback) continue;
    const std::string why = why_out(interface, machine, profile);
    if (why.empty()) {
      candidates.push_back({&interface, place_in_profile(interface, profile), fabric_of(interface)});
    } else {
      out.push_back({interface.name, why});
    }
  }
  std::sort(candidates.begin(), candidates.end(), better);
  for (const Candidate& candidate : candidates) {
    const Candidate& best = candidates.front();
    const bool alike = candidate.place == best.place && candidate.fabric == Fabric::slingshot &&
                       best.fabric == Fabric::slingshot;
    if (choice.chosen.empty() || alike) {
      choice.chosen.push_back(candidate.interface);
    } else {
      choice.passed_over.push_back({candidate.interface->name, why_not(candidate, best)});
    }
  }
  choice.passed_over.insert(choice.passed_over.end(), out.begin(), out.end());
  if (candidates.empty()) return choice;
  choice.by_profile = candidates.front().place < profile.interfaces.size();
  choice.kind = kind_of(candidates.front());
  choice.reason = why_chosen(candidates.front(), candidates.size(), profile);
  return choice;
}

std::optional<std::vector<const Interface*>> selected_by(std::string_view value, const Machine& machine) {
  if (value.size() < 2) return std::nullopt;
  const NameList list(value);
  std::vector<const Interface*> selected;
  for (const Interface& interface : machine.interfaces) {
    if (interface.up && !interface.addresses.empty() && list.selects(interface.name)) {
      selected.push_back(&interface);
    }
  }
  return selected;
}

}  // namespace lockstep::spank
