#include "plugin/outer_step.h"

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "plan/applied.h"
#include "plan/digest.h"

namespace lockstep::spank {

namespace {

Environment own_environment() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto equals = text.find('=');
    if (equals != std::string_view::npos)
      environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

// Slurm's commands have a single thread here.
void forget(const char* variable) {
  ::unsetenv(variable);  // NOLINT(concurrency-mt-unsafe)
}

}  // namespace

void forget_outer_step() {
  for (const std::string& variable : applied_variables(own_environment())) forget(variable.c_str());
  forget(applied_variable);
  forget(digest_variable);
}

}  // namespace lockstep::spank
