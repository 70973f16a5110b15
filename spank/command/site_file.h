// The site's file, for whoever may read it: the plugin takes it from root alone, a check takes it from
// anybody.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "site/profile.h"

namespace lockstep::spank {

inline constexpr const char* default_site_file = "/etc/slurm/nccl-setup.conf";

// Why the plugin would not take a file, whatever is in it, and the command that mends that.
struct Refusal {
  std::string reason;
  std::string remedy;
};

struct SiteFile {
  SiteConfig config;
  std::vector<Refusal> refusals;
};

// `name` is the file's in messages. Throws SiteConfigError, and Error(missing_input) where there is no such
// file.
SiteFile read_site_file(const std::filesystem::path& path, const std::string& name);

// By owner and permissions: the plugin reads the file as the user whose task it sets up.
std::vector<Refusal> refusals_of(const std::filesystem::path& path, const std::string& name);

}  // namespace lockstep::spank
