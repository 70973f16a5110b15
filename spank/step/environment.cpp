#include "step/environment.h"

#include <unistd.h>

#include <cstring>
#include <stdexcept>

namespace lockstep::spank {

namespace {

constexpr std::size_t largest = std::size_t{8} << 20;  // bytes; Linux itself passes on less

}  // namespace

Environment environment_of(const char* const* entries) {
  Environment environment;
  std::size_t bytes = 0;
  for (; entries != nullptr && *entries != nullptr; ++entries) {
    const std::string_view entry(*entries, ::strnlen(*entries, largest));
    bytes += entry.size() + sizeof(char*);
    if (bytes > largest) throw std::runtime_error("the job's environment has more than 8 MiB");
    const auto equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    environment.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return environment;
}

Environment own_environment() {
  return environment_of(environ);
}

}  // namespace lockstep::spank
