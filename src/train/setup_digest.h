// Has NCCL been set up alike on all nodes? The SPANK plugin gives each task a digest of what must be equal on
// every rank: "v1 plugin=HEX config=HEX rendezvous=HEX nccl=HEX driver=HEX", parts separated by blanks.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace lockstep::train {

struct NcclSetup {
  std::string node;
  std::string digest;  // empty: the plugin was not at work
};

// What differs from rank 0's, in words and with the remedy, one line per node: "rank 5 on n3: the plugin's
// configuration file differs from rank 0's on n1 (config): give all nodes the same file". After four nodes
// one line counts the others. `setups` is in rank order; nothing where all are equal.
std::vector<std::string> setup_differences(std::span<const NcclSetup> setups);

}  // namespace lockstep::train
