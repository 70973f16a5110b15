// A temporary folder that all ranks of a communicator know, removed by rank 0 at the end.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "comm/group.h"

class SharedFolder {
 public:
  explicit SharedFolder(lockstep::comm::Group& comm) : comm_(comm) {
    std::string name = (std::filesystem::temp_directory_path() / "lockstep-test-XXXXXX").string();
    if (comm.rank() == 0 && ::mkdtemp(name.data()) == nullptr) name.clear();
    lockstep::comm::broadcast_text(comm, name, 0);
    path_ = name;
  }
  ~SharedFolder() {
    comm_.barrier();
    std::error_code ignored;
    if (comm_.rank() == 0) std::filesystem::remove_all(path_, ignored);
  }
  SharedFolder(const SharedFolder&) = delete;
  SharedFolder& operator=(const SharedFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  lockstep::comm::Group& comm_;
  std::filesystem::path path_;
};
