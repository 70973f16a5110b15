#include "plugin/outer_step.h"

#include <cstdlib>
#include <string>

#include "plan/applied.h"
#include "plan/digest.h"

namespace lockstep::spank {

namespace {

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
