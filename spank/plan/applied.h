// How the plugin knows its own values again in an inner step: LOCKSTEP_NCCL_APPLIED lists them as
// NAME:HASH[,NAME:HASH...]. A value that was changed since belongs to whoever changed it.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "step/environment.h"

namespace lockstep::spank {

inline constexpr const char* applied_variable = "LOCKSTEP_NCCL_APPLIED";

std::string describe_applied(const std::map<std::string, std::string>& values);

// The variables of `environment` that the plugin has set and nobody has changed.
std::vector<std::string> applied_variables(const Environment& environment);

// Those that the plugin has set and somebody has changed or unset since.
std::vector<std::string> changed_variables(const Environment& environment);

}  // namespace lockstep::spank
