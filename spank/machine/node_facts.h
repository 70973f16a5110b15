// What a node's description needs and sysfs does not hold: addresses, /dev/shm, memlock. A captured tree has
// them in the text file `lockstep-node`, one fact a line, in any order; lines of another form are passed
// over:
//   node NAME                   as Slurm knows it
//   address INTERFACE ADDRESS   one of several, IPv4 or IPv6
//   shm BYTES                   size of /dev/shm
//   memlock BYTES|unlimited     hard limit
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "machine/machine.h"

namespace lockstep::spank {

inline constexpr const char* node_facts_file = "lockstep-node";
inline constexpr std::size_t node_facts_limit = std::size_t{256} << 10;  // bytes of the file that are read

struct NodeFacts {
  std::string node;                                        // empty: not known
  std::vector<std::pair<std::string, Address>> addresses;  // by interface
  std::uint64_t shm_bytes = 0;                             // as in Machine
  std::uint64_t memlock_bytes = 0;                         // as in Machine
};

// An address as text with what follows from it; nothing where the text is none.
std::optional<Address> parse_address(const std::string& text);

// Of this machine, by getifaddrs, statvfs and getrlimit; all but `node`.
NodeFacts live_node_facts();

NodeFacts parse_node_facts(std::string_view text);
std::string write_node_facts(const NodeFacts& facts);

// From the file in a captured tree; nothing known where there is none.
NodeFacts read_node_facts(const std::filesystem::path& root);

}  // namespace lockstep::spank
