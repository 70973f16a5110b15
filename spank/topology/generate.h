// Writes a topology file for a node from what sysfs shows.
#pragma once

#include <string>

#include "machine/machine.h"

namespace lockstep::spank {

// XML that NCCL's parser loads: CPUs, PCI bridges, GPUs, network devices with their link speed and width. The
// same node gives the same bytes. Empty where the node has neither GPUs nor HCAs.
std::string generate_topology(const Machine& machine);

}  // namespace lockstep::spank
