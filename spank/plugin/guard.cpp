#include "plugin/guard.h"

#include <cstdio>

namespace lockstep::spank {

void tell_of_exception(const char* callback, const char* what) noexcept {
  char line[600] = "";
  std::snprintf(line, sizeof line,
                "%s failed, nothing was set up: %s; please report it, and use --nccl=off until then",
                callback, what);
  complain(line);
}

}  // namespace lockstep::spank
