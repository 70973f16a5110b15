// Which network interface carries NCCL's sockets: a pure function of the node and its profile.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machine/machine.h"
#include "plan/passed_over.h"
#include "site/profile.h"

namespace lockstep::spank {

struct InterfaceChoice {
  std::vector<const Interface*> chosen;  // the best first; several only where NCCL spreads over all (hsn*)
  bool by_profile = false;               // the profile names it
  std::string kind;            // of the best: "InfiniBand, 400 Gb/s", "1 Gb/s"; the same on equal nodes
  std::string reason;          // "InfiniBand, 400 Gb/s"; empty where nothing was chosen
  bool by_name_alone = false;  // another would do as well, for all that is known
  std::vector<PassedOver> passed_over;  // all others but loopback: those that would do first, best first
};

// The order: the profile's globs, InfiniBand, Slingshot (hsn*), what it stands on (see interface_base.h; a
// host's bridge and a VLAN with their device before other virtual ones, overlays last), speed, a device
// before what stands on it, name.
// Loopback, containers' bridges and links, tunnels, ports of bonds and bridges, and what is down or has no
// address that can be reached from other nodes are out; by its full name (no glob) a profile may still ask
// for a bridge, a container's link or a tunnel.
InterfaceChoice choose_interface(const Machine& machine, const Profile& profile);

// What NCCL makes of a value of NCCL_SOCKET_IFNAME on this node: names by prefix, `^` all but these, `=` by
// full name; those that are up with an address of any kind, link-local ones too. Nothing where NCCL looks
// past the value.
std::optional<std::vector<const Interface*>> selected_by(std::string_view value, const Machine& machine);

}  // namespace lockstep::spank
