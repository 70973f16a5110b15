// A copy of what read_machine has read, with the links that lead there.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "machine/machine.h"

namespace lockstep::spank {

class CapturedTree {
 public:
  // `to` is an empty folder that becomes a root like `from`.
  CapturedTree(std::filesystem::path from, std::filesystem::path to);

  // Nothing that leads out of `from` is taken. Throws Error(cannot_create).
  void add(const Reading& reading);
  void add_file(const std::string& path, const std::string& text);

 private:
  // Where `path` lies in the copy, the links on the way made; empty: it leads out.
  std::filesystem::path make_way(const std::string& path);

  std::filesystem::path from_;
  std::filesystem::path to_;
};

}  // namespace lockstep::spank
