#include "command/node_root.h"

#include <fmt/format.h>

#include <system_error>

#include "core/error.h"
#include "core/subprocess.h"

namespace lockstep::spank {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::seconds unpack_limit{60};

// A tar may come from anybody: a device or a pipe in it must not be opened by whoever reads the tree.
void refuse_special_files(const fs::path& tree, const std::string& tar) {
  for (const auto& entry : fs::recursive_directory_iterator(tree)) {
    const fs::file_type type = entry.symlink_status().type();
    if (type == fs::file_type::directory || type == fs::file_type::regular ||
        type == fs::file_type::symlink) {
      continue;
    }
    throw Error(ExitCode::bad_data, fmt::format("{} holds {}, which is no plain file: it is no capture", tar,
                                                entry.path().lexically_relative(tree).string()));
  }
}

void unpack(const std::string& tar, const fs::path& folder) {
  const CommandResult result = run_command({"tar", "--extract", "--no-same-owner", "--no-same-permissions",
                                            "--file", tar, "--directory", folder.string()},
                                           unpack_limit);
  if (result.exit_code == 127) {
    throw Error(ExitCode::missing_input,
                fmt::format("the program tar is missing: unpack {} elsewhere, and give "
                            "the folder",
                            tar));
  }
  if (!result.ok()) {
    throw Error(ExitCode::bad_data,
                fmt::format("cannot unpack {}: {}; give a folder or a tar that nccl-setup capture wrote", tar,
                            result.timed_out ? "it takes more than 60 s"
                                             : "it is no whole tar file (" +
                                                   result.output.substr(0, result.output.find('\n')) + ")"));
  }
  refuse_special_files(folder, tar);
}

bool lies_in(const fs::path& path, const fs::path& folder) {
  const fs::path relative = path.lexically_relative(folder);
  return !relative.empty() && *relative.begin() != "..";
}

}  // namespace

NodeRoot::NodeRoot(const std::optional<std::string>& where) {
  if (!where || *where == "/") return;
  std::error_code error;
  const fs::file_status status = fs::status(*where, error);
  if (!fs::exists(status)) {
    throw Error(
        ExitCode::missing_input,
        fmt::format("{} does not exist: give a folder or a tar that nccl-setup capture wrote", *where));
  }
  path_ = *where;
  if (!fs::is_directory(status)) {
    unpacked_ = std::make_unique<TemporaryFolder>();
    unpack(*where, unpacked_->path());
    path_ = unpacked_->path();
  }
  path_ = fs::canonical(path_);
  if (captured() && !fs::is_directory(path_ / "sys", error)) {
    throw Error(ExitCode::bad_data,
                fmt::format("{} has no folder sys: give what nccl-setup capture wrote on a node", *where));
  }
}

std::optional<fs::path> NodeRoot::find(const std::string& file) const {
  std::error_code error;
  const fs::path found = fs::canonical(path_ / fs::path(file).relative_path(), error);
  if (error || !fs::is_regular_file(found, error) || !lies_in(found, path_)) return std::nullopt;
  return found;
}

}  // namespace lockstep::spank
