// NCCL's own configuration files (/etc/nccl.conf, ~/.nccl.conf), read exactly as NCCL reads them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "site/bounded_file.h"

namespace lockstep::spank {

struct NcclConf {
  struct Entry {
    std::string variable;  // as NCCL takes it: "A " where the file says "A = b"
    std::string value;
    int line = 0;
  };
  std::string file;            // for messages
  std::vector<Entry> entries;  // the first of a variable counts
  // The first line that ends in CR LF; 0: none. Older NCCL takes the CR into the value; here it is left out.
  int carriage_return_line = 0;
  // Why the plugin has not read the file, and the same in words, "is a folder"; then there are no entries.
  Obstacle obstacle = Obstacle::none;
  std::string problem = {};
  const Entry* find(std::string_view variable) const;
};

// At most the first 1000 entries.
NcclConf parse_nccl_conf(std::string_view text, std::string file);

// Nothing where there is no such file, as far as this user can see. At most 1 MiB, plain files and /dev/null
// only; of others what kept them from being read. Never throws.
std::optional<NcclConf> read_nccl_conf(const std::filesystem::path& path);

}  // namespace lockstep::spank
