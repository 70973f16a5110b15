// What is wrong with one file, by its kind.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "command/node.h"

namespace lockstep::spank {

struct Report {
  std::string kind;                        // "topology file"
  std::vector<std::string> contents = {};  // what it says, for files that hold several things
  std::vector<std::string> faults = {};    // each in one line, with file and line where there is one
  std::vector<std::string> remarks = {};   // what is no fault of the file's text
  bool missing = false;                    // there is no such file
};

// Topology files are compared with the node, where it has GPUs.
Report check_file(const std::string& file, const Node& node);

Report check_topology(std::string_view text, const Node& node);
Report check_nccl_conf(std::string_view text, const std::string& file);

}  // namespace lockstep::spank
