#include "command/temporary_folder.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

#include "core/error.h"

namespace lockstep::spank {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  fs::path parent = fs::temp_directory_path(error);
  if (error) parent = "/tmp";
  std::string name = (parent / "nccl-setup.XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw Error(ExitCode::cannot_create,
                fmt::format("cannot create a folder in {}: {}; set TMPDIR to one that is writable",
                            parent.string(), std::strerror(errno)));
  }
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace lockstep::spank
