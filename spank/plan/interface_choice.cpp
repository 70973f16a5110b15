#include "plan/interface_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "machine/names.h"
#include "plan/interface_base.h"
#include "plan/name_list.h"
#include "site/glob.h"

namespace lockstep::spank {

namespace {

using Base = InterfaceBase::Kind;

constexpr int infiniband_type = 32;
constexpr std::array<std::string_view, 11> container_bridges = {
    "docker", "cni", "flannel", "cali", "virbr", "podman", "kube-", "lxc", "lxd", "cilium", "weave"};
constexpr std::array<std::string_view, 8> tunnels = {"tun", "tap",  "ip6tnl", "sit",
                                                     "gre", "ipip", "wg",     "ip6gre"};

template <typename Names>
bool begins_with_any(const std::string& name, const Names& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

// "br-" and twelve hexadecimal digits: a network made with Docker. Hosts' own are br-ex, br-mgmt, ...
bool is_docker_network(const std::string& name) {
  constexpr std::string_view prefix = "br-";
  return name.size() == prefix.size() + 12 && name.starts_with(prefix) &&
         name.find_first_not_of("0123456789abcdef", prefix.size()) == std::string::npos;
}

bool is_infiniband(const Interface& interface) {
  return interface.type == infiniband_type || interface.name.starts_with("ib");
}

bool is_slingshot(const Interface& interface) {
  return interface.name.starts_with("hsn");
}

// Why the interface is out by what it is; empty: it is not.
std::string wrong_kind(const Interface& interface, const Machine& machine) {
  if ((begins_with_any(interface.name, container_bridges) || is_docker_network(interface.name)) &&
      base_of(interface, machine).kind != Base::hardware) {
    return "container bridge";
  }
  if (interface.name.starts_with("veth")) return "container's link";
  if (interface.tunnel || begins_with_any(interface.name, tunnels)) return "tunnel";
  return {};
}

// Why the interface is out by its state; empty: it is not.
std::string wrong_state(const Interface& interface, const Machine& machine) {
  if (!interface.up) return "down";
  if (is_port(interface, machine)) return "port of " + interface.master;
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
  const std::string kind = by_name ? "" : wrong_kind(interface, machine);
  return kind.empty() ? wrong_state(interface, machine) : kind;
}

enum class Fabric { infiniband, slingshot, other };

Fabric fabric_of(const Interface& interface) {
  if (is_infiniband(interface)) return Fabric::infiniband;
  return is_slingshot(interface) ? Fabric::slingshot : Fabric::other;
}

struct Candidate {
  const Interface* interface;
  std::size_t place;  // in the profile's list
  Fabric fabric;
  InterfaceBase base;
  auto rank() const { return std::tuple(place, fabric, base.kind, -base.speed_mbps, !base.direct); }
};

bool better(const Candidate& left, const Candidate& right) {
  if (left.rank() != right.rank()) return left.rank() < right.rank();
  return natural_less(left.interface->name, right.interface->name);
}

std::string with_speed(const std::string& text, const Candidate& candidate) {
  if (candidate.base.speed_mbps == 0) return text;
  return fmt::format("{}, {:g} Gb/s", text, static_cast<double>(candidate.base.speed_mbps) / 1000);
}

std::string kind_of(const Candidate& best) {
  if (best.fabric == Fabric::infiniband) return with_speed("InfiniBand", best);
  return with_speed(best.fabric == Fabric::slingshot ? "Slingshot" : "other", best);
}

std::string words_for(Base base) {
  switch (base) {
    case Base::hardware:
      return "device";
    case Base::wireless:
      return "wireless";
    case Base::unknown:
      return "virtual";
    case Base::node_only:
      return "a bridge on no device";
    case Base::overlay:
      return "overlay";
  }
  return {};
}

std::string why_chosen(const std::vector<Candidate>& candidates, const Profile& profile) {
  const Candidate& best = candidates.front();

  if (best.place < profile.interfaces.size()) {
    return with_speed(fmt::format("the profile's interfaces ({})", profile.interfaces[best.place]), best);
  }
  if (best.fabric == Fabric::infiniband) return with_speed("InfiniBand", best);
  if (best.fabric == Fabric::slingshot) return with_speed("Slingshot", best);
  if (candidates.size() == 1) return with_speed("the only one that reaches other nodes", best);
  if (best.base.kind != candidates[1].base.kind) {
    return with_speed(
        best.base.kind < Base::unknown ? "on a device of the node" : "the likeliest of virtual ones", best);
  }
  return best.base.speed_mbps == 0 ? "the first by name, no speed is known" : with_speed("the fastest", best);
}

bool has_hca(const Candidate& candidate, const Machine& machine) {
  return std::any_of(machine.hcas.begin(), machine.hcas.end(),
                     [&](const Hca& hca) { return hca.netdev == candidate.interface->name; });
}

// Those of a fabric, and the interfaces of HCAs, are alike by design.
bool is_by_name_alone(const std::vector<Candidate>& candidates, const Profile& profile,
                      const Machine& machine) {
  if (candidates.size() < 2 || candidates[0].rank() != candidates[1].rank()) return false;
  if (candidates[0].place < profile.interfaces.size() || candidates[0].fabric != Fabric::other) return false;
  return !has_hca(candidates[0], machine) || !has_hca(candidates[1], machine);
}

// Why a candidate came after the best.
std::string why_not(const Candidate& other, const Candidate& best) {
  if (other.place != best.place) return "later in the profile";
  if (other.fabric != best.fabric) {
    return best.fabric == Fabric::infiniband ? "not InfiniBand" : "not Slingshot";
  }
  if (other.base.kind != best.base.kind) return words_for(other.base.kind);
  if (other.base.speed_mbps == 0 && best.base.speed_mbps != 0) return "speed not known";
  if (other.base.speed_mbps != best.base.speed_mbps) return "slower";
  if (other.base.direct != best.base.direct) return "virtual";
  return "as fast, later by name";
}

}  // namespace

InterfaceChoice choose_interface(const Machine& machine, const Profile& profile) {
  InterfaceChoice choice;
  std::vector<Candidate> candidates;
  std::vector<PassedOver> out;
  for (const Interface& interface : machine.interfaces) {
    if (interface.loopback) continue;
    const std::string why = why_out(interface, machine, profile);
    if (why.empty()) {
      candidates.push_back({&interface, place_in_profile(interface, profile), fabric_of(interface),
                            base_of(interface, machine)});
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
  choice.reason = why_chosen(candidates, profile);
  choice.by_name_alone = is_by_name_alone(candidates, profile, machine);
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
