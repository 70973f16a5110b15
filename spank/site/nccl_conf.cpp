#include "site/nccl_conf.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstddef>

namespace lockstep::spank {

namespace {

constexpr std::size_t largest_file = 1 << 20;
// NCCL reads pieces of a line into a buffer of 4096 bytes; what is longer goes on as a line of its own.
constexpr std::size_t longest_piece = 4095;
// It copies names and values into buffers of 1024 bytes, and cuts them.
constexpr std::size_t longest_text = 1023;
// Looked through for every variable; a file with more is no configuration.
constexpr std::size_t most_entries = 1000;

// In a folder that the user may not search, nobody knows whether there is a file.
bool is_seen(const std::filesystem::path& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

}  // namespace

const NcclConf::Entry* NcclConf::find(std::string_view variable) const {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const Entry& entry) { return entry.variable == variable; });
  return found == entries.end() ? nullptr : &*found;
}

NcclConf parse_nccl_conf(std::string_view text, std::string file) {
  NcclConf conf;
  conf.file = std::move(file);
  for (int line = 1; !text.empty() && conf.entries.size() < most_entries;) {
    const std::size_t newline = text.substr(0, longest_piece).find('\n');
    const bool ends = newline != std::string_view::npos;
    std::string_view piece = text.substr(0, ends ? newline : longest_piece);
    text.remove_prefix(piece.size() + (ends ? 1 : 0));
    piece = piece.substr(0, piece.find('\0'));  // for C, the text ends there
    if (!piece.empty() && piece.back() == '\r') {
      piece.remove_suffix(1);
      if (conf.carriage_return_line == 0) conf.carriage_return_line = line;
    }
    const std::size_t equals = piece.find('=');
    // Without a name the system refuses the variable.
    if (equals != std::string_view::npos && equals > 0 && piece.front() != '#') {
      conf.entries.push_back({.variable = std::string(piece.substr(0, std::min(equals, longest_text))),
                              .value = std::string(piece.substr(equals + 1, longest_text)),
                              .line = line});
    }
    line += ends ? 1 : 0;
  }
  return conf;
}

std::optional<NcclConf> read_nccl_conf(const std::filesystem::path& path) try {
  const BoundedFile file = read_bounded(path, largest_file);
  if (file.missing || (file.obstacle == Obstacle::unreadable && !is_seen(path))) return std::nullopt;
  NcclConf conf = parse_nccl_conf(file.text, path.string());
  conf.obstacle = file.obstacle;
  conf.problem = file.problem;
  return conf;
} catch (...) {
  return std::nullopt;
}

}  // namespace lockstep::spank
