// Host files of arbitrary distributions (SLURM_HOSTFILE): the hosts of the ranks in their order.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::spank {

struct HostFile {
  struct Entry {
    std::string host;
    int tasks = 1;  // "HOST*3"
  };
  std::vector<Entry> entries;
  bool complete = true;  // false: the file is longer than what was read
};

// Names apart by commas or line ends, "NAME*N" for N tasks, comments after '#'. Nothing where the text holds
// anything else: what Slurm makes of that is its secret.
std::optional<HostFile> parse_host_file(std::string_view text, bool complete = true);

// At most the first 64 KiB of a plain file; nothing where there is none. Never throws for what it finds, and
// never waits for a FIFO's writer.
std::optional<HostFile> read_host_file(const std::filesystem::path& path);

}  // namespace lockstep::spank
