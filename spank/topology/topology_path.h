// Topology files on disk: reading one that somebody named, and placing one that was generated.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "topology/nccl_xml.h"

namespace lockstep::spank {

// A file that cannot be read is `ignored`, as NCCL does. Reads plain files alone, so that nothing can block,
// and not much more than max_topology_bytes.
TopologyFile read_topology(const std::filesystem::path& path);

// "lockstep-topology-UID-HASH.xml", for the calling user: the same text has the same name; and the further
// names "...-1.xml" and so on, for where something is in the way.
std::string generated_name(std::string_view text, int further = 0);

// Puts `text` into the folder, or where that does not exist into the other, as Slurm does with TMPDIR, under
// a generated name, readable by the calling user, and returns the path. A file that is there already is taken
// if it is this user's, nobody else may write to it, and it holds the same text. Throws Error, which names
// the file, the reason, and whose file is in the way.
std::filesystem::path place_generated(const std::filesystem::path& folder, std::string_view text,
                                      const std::filesystem::path& otherwise = "/tmp");

}  // namespace lockstep::spank
