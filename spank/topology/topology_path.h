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

// "lockstep-topology-UID-HASH.xml", for the calling user: the same text has the same name.
std::string generated_name(std::string_view text);

// Puts `text` into the folder under its generated name, readable by the calling user, and returns the path. A
// file that is there already is taken if it is this user's, nobody else may write to it, and it holds the
// same text. Throws Error, which names the file and the reason.
std::filesystem::path place_generated(const std::filesystem::path& folder, std::string_view text);

}  // namespace lockstep::spank
