// Where a node hangs in the network, as Slurm's topology plugin tells it.
#pragma once

#include <string>
#include <string_view>

namespace lockstep::spank {

// "root.s0.n1" of pattern "switch.switch.node" -> "root/s0": the levels above the node, from the top. A level
// may have several switches ("s[0,4-8]") and stays as Slurm writes it. Empty where there is no level above
// the node, or the address does not have the levels of the pattern.
std::string switch_path(std::string_view address, std::string_view pattern);

}  // namespace lockstep::spank
