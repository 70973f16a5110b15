// The parts of read_machine, each in a file of its own.
#pragma once

#include <vector>

#include "machine/machine.h"
#include "machine/tree.h"

namespace lockstep::spank {

std::vector<Interface> read_interfaces(Tree& tree);  // addresses and speeds left out

void read_speed(Tree& tree, Interface& interface);

std::vector<Hca> read_hcas(Tree& tree);

// A virtual function whose physical one is in sight is left out, unless one of `hcas` sits on it.
std::vector<PciDevice> read_pci_devices(Tree& tree, const std::vector<Hca>& hcas);

void read_processors(Tree& tree, Machine& machine);  // arch, cpu_*, numa_nodes

}  // namespace lockstep::spank
