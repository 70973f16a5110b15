// Files of the site and of users, which may be anything: never waits, never takes more than the limit.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <string>

namespace lockstep::spank {

struct BoundedFile {
  bool missing = false;  // there is no such file
  std::string problem;   // why it could not be read, "is a folder"; empty: it was read, or is missing
  std::string text;
  uid_t owner = 0;
  mode_t mode = 0;  // permissions
};

// Plain files of at most `limit` bytes. Owner and mode are those of the file that was read, whatever the path
// has come to mean since. Throws nothing but bad_alloc.
BoundedFile read_bounded(const std::filesystem::path& path, std::size_t limit);

}  // namespace lockstep::spank
