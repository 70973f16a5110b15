#include "command/site_file.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <system_error>

#include "core/error.h"
#include "site/bounded_file.h"

namespace lockstep::spank {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t longest = 1 << 20;  // as the plugin has it

// The first folder on the way that not everybody may enter; empty: there is none.
fs::path closed_folder(const fs::path& file) {
  for (fs::path folder = file.parent_path();; folder = folder.parent_path()) {
    struct stat status {};
    if (::stat(folder.c_str(), &status) == 0 && (status.st_mode & S_IXOTH) == 0) return folder;
    if (folder == folder.root_path()) return {};
  }
}

}  // namespace

std::vector<Refusal> refusals_of(const fs::path& path, const std::string& name) {
  std::error_code error;
  const fs::path file = fs::canonical(path, error);
  struct stat status {};
  if (error || ::stat(file.c_str(), &status) != 0) return {};
  std::vector<Refusal> refusals;
  if (status.st_uid != 0) {
    refusals.push_back(
        {fmt::format("{} belongs to uid {}: the plugin takes root's alone", name, status.st_uid),
         fmt::format("chown root {}", name)});
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    refusals.push_back(
        {fmt::format("{} can be written by others than its owner (mode {:04o}): the plugin refuses it", name,
                     status.st_mode & 07777U),
         fmt::format("chmod go-w {}", name)});
  }
  if ((status.st_mode & S_IROTH) == 0) {
    refusals.push_back(
        {fmt::format(
             "{} cannot be read by all users (mode {:04o}): the plugin reads it as the user of the step",
             name, status.st_mode & 07777U),
         fmt::format("chmod a+r {}", name)});
  }
  if (const fs::path folder = closed_folder(file); !folder.empty()) {
    refusals.push_back(
        {fmt::format("{} cannot be reached by all users: the plugin reads it as the user of the step", name),
         fmt::format("chmod a+x {}", folder.string())});
  }
  return refusals;
}

SiteFile read_site_file(const fs::path& path, const std::string& name) {
  const BoundedFile read = read_bounded(path, longest);
  if (read.missing) throw Error(ExitCode::missing_input, fmt::format("{} does not exist", name));
  if (!read.problem.empty()) throw SiteConfigError(fmt::format("{}: {}", name, read.problem));
  return {parse_site_config(read.text, name), refusals_of(path, name)};
}

}  // namespace lockstep::spank
