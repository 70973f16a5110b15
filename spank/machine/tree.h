// Small files below a root, read within limits of time and never from outside of that root.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "machine/machine.h"

namespace lockstep::spank {

// All paths are relative to the root. Nothing throws, nothing blocks: what cannot be read is not there. Once
// the time is up nothing is there any more, and complete() tells.
class Tree {
 public:
  explicit Tree(const MachineSource& source);

  // The root is this machine's own.
  bool live() const { return live_; }
  bool complete() const { return complete_; }

  // The first `limit` bytes of a plain file, without blanks and newlines at both ends; what is
  // neither printable ASCII, newline nor tab becomes question marks.
  std::optional<std::string> text(const std::string& path, std::size_t limit = 4096);
  // The same as a number; nothing where it is none.
  std::optional<std::int64_t> number(const std::string& path);

  // What a folder holds, in natural order (see names.h): at most 4096 names of printable characters
  // without comma and equals sign.
  std::vector<std::string> names(const std::string& folder);

  bool has_folder(const std::string& path);

  // Where a link leads, itself relative to the root; `path` where it is no link, or a link out of the root.
  std::string follow(const std::string& path);

 private:
  bool in_time();
  // `path` with all links in it replaced, none of which may be absolute or lead out of the root; nothing
  // else. A root that is live is the kernel's: its links are left to it.
  std::optional<std::string> real(const std::string& path, int depth = 0);
  std::filesystem::path place(const std::string& real_path) const { return source_.root / real_path; }
  void tell(Reading::Kind kind, const std::string& path, const std::string& text) const;

  const MachineSource& source_;
  bool live_;
  bool complete_ = true;
  std::chrono::nanoseconds cpu_deadline_;
  std::chrono::nanoseconds wall_deadline_;
  std::map<std::string, std::optional<std::string>> real_folders_;
};

}  // namespace lockstep::spank
