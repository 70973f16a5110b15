// The node that a command looks at: this machine, a captured tree, or a tar of one.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "command/temporary_folder.h"

namespace lockstep::spank {

class NodeRoot {
 public:
  // `where` is a folder or a tar file; nothing: this machine. A tar is unpacked into a temporary folder that
  // goes with the object. Throws Error(missing_input, bad_data).
  explicit NodeRoot(const std::optional<std::string>& where);

  const std::filesystem::path& path() const { return path_; }
  bool captured() const { return path_ != "/"; }
  // Where the node's own file, such as "/etc/nccl.conf", lies; nothing where it has none. What leads out of a
  // captured tree is not there.
  std::optional<std::filesystem::path> find(const std::string& file) const;

 private:
  std::unique_ptr<TemporaryFolder> unpacked_;
  std::filesystem::path path_ = "/";
};

}  // namespace lockstep::spank
