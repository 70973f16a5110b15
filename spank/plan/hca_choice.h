// Which HCA ports carry NCCL's data: a pure function of the node and its profile.
#pragma once

#include <string>
#include <vector>

#include "machine/machine.h"
#include "site/profile.h"

namespace lockstep::spank {

struct PortRef {
  const Hca* hca = nullptr;
  const HcaPort* port = nullptr;
  std::string name() const;  // "mlx5_0:1"
};

// A port among the compute HCAs that is not as its siblings are.
struct AilingPort {
  PortRef ref;
  double expected_gbps = 0;  // what its siblings run at
};

struct HcaChoice {
  std::vector<PortRef> chosen;  // in the node's order
  std::string reason;  // "400 Gb/s InfiniBand, beside the GPUs; not mlx5_4 (100 Gb/s Ethernet)"; why none
  std::vector<AilingPort> down;
  std::vector<AilingPort> slow;  // active; some are chosen nevertheless, so that all nodes have the same list
};

// The ports that the rule takes:
//  1. Active ports of real devices, not EFA (NCCL reaches that through libfabric), of at least the profile's
//     rate. InfiniBand if any port of it is left, else Ethernet (RoCE) whose network device is up.
//  2. Where each GPU shares a PCI bridge with a device of that kind, active or not, or has on its NUMA node
//     one that shares a bridge with another GPU: only devices that share one, and of these the fastest.
//  3. Else, as in virtual machines that hide the bridges: the fastest, and all that share a bridge with
//     a GPU.
// A port that is slower than its siblings (same model, same function and port number, both beside GPUs or
// both not) counts as being as fast as they are under 2.
HcaChoice choose_hcas(const Machine& machine, const Profile& profile);

// "DOWN", without sysfs's number.
std::string state_of(const HcaPort& port);

// "400 Gb/s InfiniBand".
std::string kind_of(const HcaPort& port);

}  // namespace lockstep::spank
