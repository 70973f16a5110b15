#include "command/site_file.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "core/error.h"
#include "site/bounded_file.h"

namespace lockstep::spank {

namespace {

constexpr std::size_t longest = 1 << 20;  // as the plugin has it

}  // namespace

SiteFile read_site_file(const std::filesystem::path& path, const std::string& name) {
  const BoundedFile read = read_bounded(path, longest);
  if (read.missing) throw Error(ExitCode::missing_input, fmt::format("{} does not exist", name));
  if (!read.problem.empty()) throw SiteConfigError(fmt::format("{}: {}", name, read.problem));
  SiteFile file{parse_site_config(read.text, name), "", ""};
  if (read.owner != 0) {
    file.refusal = fmt::format("{} belongs to uid {}: the plugin takes root's alone", name, read.owner);
    file.remedy = fmt::format("chown root {}", name);
  } else if ((read.mode & (S_IWGRP | S_IWOTH)) != 0) {
    file.refusal = fmt::format("{} can be written by others than root: the plugin refuses it", name);
    file.remedy = fmt::format("chmod go-w {}", name);
  }
  return file;
}

}  // namespace lockstep::spank
