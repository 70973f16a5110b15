// What an interface stands on, as far as sysfs tells: a pure function of the node.
#pragma once

#include <cstdint>

#include "machine/machine.h"

namespace lockstep::spank {

struct InterfaceBase {
  // The better the further up.
  enum class Kind {
    hardware,   // a device, a bond, or a VLAN or bridge on one of these
    wireless,   // a device of Wi-Fi
    unknown,    // virtual, on nothing that is in sight, as a container's eth0
    node_only,  // a bridge without a device: what hangs on it is on this node
    overlay,    // VXLAN, Geneve, WireGuard, or a port of Open vSwitch beside the device
  };
  Kind kind = Kind::unknown;
  bool direct = false;          // is a device or a bond itself
  std::int64_t speed_mbps = 0;  // of the fastest device that it stands on; else its own; 0: not known
};

// Open vSwitch shows its ports as virtual interfaces without any link to its device, and the device as a port
// of `ovs-system`. With a device there, those called br* are taken for bridges on it, as br-ex is.
InterfaceBase base_of(const Interface& interface, const Machine& machine);

// Null: there is none.
const Interface* find_interface(const Machine& machine, const std::string& name);

// Of a bond, of a bridge, or of Open vSwitch.
bool is_port(const Interface& interface, const Machine& machine);

}  // namespace lockstep::spank
