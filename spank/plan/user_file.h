// Which file NCCL reads as the user's own.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "plan/settings.h"
#include "step/environment.h"

namespace lockstep::spank {

// NCCL_CONF_FILE as it will be in effect (--nccl-set, --nccl-unset, the user's environment; not what the
// plugin has set in an outer step), else .nccl.conf below the home folder. Empty where neither is known. The
// home folder is HOME, or, where a job was submitted without its environment, what /etc/passwd says of
// `user`.
std::filesystem::path user_file_path(const Environment& environment, const UserOptions& options,
                                     unsigned user);

// The home folder of a user id in a text of passwd(5)'s form; empty where it is not there.
std::string home_in(std::string_view passwd, unsigned user);

}  // namespace lockstep::spank
