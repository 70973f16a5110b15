// NCCL's topology files, read by the rules of NCCL's own parser: what it refuses, what it takes, and what it
// passes over in silence.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "machine/machine.h"

namespace lockstep::spank {

struct XmlNode {
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<XmlNode> children;
  int line = 0;
  const std::string* attribute(std::string_view key) const;  // null: none
};

struct TopologyFile {
  // What NCCL does with it.
  enum class Verdict {
    loaded,   // read and merged
    ignored,  // NCCL goes on as if there were none, and says so at most in NCCL_DEBUG=INFO
    fatal,    // ncclCommInit fails
  };
  Verdict verdict = Verdict::loaded;
  std::string reason;             // for ignored and fatal: what and in which line
  std::optional<XmlNode> system;  // loaded: the root
};

inline constexpr std::size_t max_topology_bytes = std::size_t{4} << 20;

// More than max_topology_bytes is fatal.
TopologyFile parse_topology(std::string_view text);

// Differences between a loaded file and this node, each in one line, the gravest first; empty: it fits. Looks
// at the bus ids of GPUs and network devices, at numaid, and at CPU affinity.
std::vector<std::string> misfits(const XmlNode& system, const Machine& machine);

}  // namespace lockstep::spank
