// The site's file, for whoever may read it: the plugin takes it from root alone, a check takes it from
// anybody.
#pragma once

#include <filesystem>
#include <string>

#include "site/profile.h"

namespace lockstep::spank {

inline constexpr const char* default_site_file = "/etc/slurm/nccl-setup.conf";

struct SiteFile {
  SiteConfig config;
  std::string refusal;  // why the plugin would not take it for whose it is; empty: it would
  std::string remedy;   // the command that mends that
};

// `name` is the file's in messages. Throws SiteConfigError, and Error(missing_input) where there is no such
// file.
SiteFile read_site_file(const std::filesystem::path& path, const std::string& name);

}  // namespace lockstep::spank
