// An environment as data: a task's, as the plugin finds it, or this process's.
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

// From entries NAME=VALUE up to a null pointer; others are passed over, the first of a name counts, as for
// getenv. Throws std::runtime_error beyond 8 MiB: a part of an environment could hide what the user has set.
Environment environment_of(const char* const* entries);

// This process's.
Environment own_environment();

}  // namespace lockstep::spank
