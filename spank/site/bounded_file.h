// Files of the site and of users, which may be anything: never waits, never takes more than the limit.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <string>

namespace lockstep::spank {

// What kept a file from being read, beside that it is missing.
enum class Obstacle {
  none,
  unreadable,  // for others too: a folder, or no rights
  stream,      // a pipe, a terminal or another device: whoever reads from it may wait without end
  too_large,
};

struct BoundedFile {
  bool missing = false;  // there is no such file
  Obstacle obstacle = Obstacle::none;
  std::string problem;  // the obstacle in words, "is a folder"; empty: it was read, or is missing
  std::string text;
  uid_t owner = 0;
  mode_t mode = 0;  // permissions
};

// Plain files of at most `limit` bytes, and /dev/null as an empty one. Owner and mode are those of the file
// that was read, whatever the path has come to mean since. Throws nothing but bad_alloc.
BoundedFile read_bounded(const std::filesystem::path& path, std::size_t limit);

}  // namespace lockstep::spank
