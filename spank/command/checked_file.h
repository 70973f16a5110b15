// What is wrong with one file, by its kind.
#pragma once

#include <optional>
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

enum class FileKind { site, nccl_conf, topology };

// "site", "nccl-conf", "topology"; nothing for any other word.
std::optional<FileKind> parse_file_kind(std::string_view word);

struct CheckOptions {
  std::optional<FileKind> kind;  // nothing: as its text and name tell
  bool draft = false;            // a site's file that is not in its place yet: whose it is does not count
};

// Topology files are compared with the node, where it has GPUs.
Report check_file(const std::string& file, const Node& node, const CheckOptions& options);

Report check_topology(std::string_view text, const Node& node);
Report check_nccl_conf(std::string_view text, const std::string& file);

}  // namespace lockstep::spank
