// A task's environment as data: what the plugin found, never the process's own.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep::spank {

using Environment = std::map<std::string, std::string, std::less<>>;

// Nothing where the variable is not set; an empty value is a value.
inline std::optional<std::string> find(const Environment& environment, std::string_view name) {
  const auto found = environment.find(name);
  if (found == environment.end()) return std::nullopt;
  return found->second;
}

}  // namespace lockstep::spank
