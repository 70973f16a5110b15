// Faults on demand, for tests of the guards: the variant that is built with LOCKSTEP_SPANK_FAULTS takes the
// argument throw=CALLBACK[:std|int], CALLBACK being init, option, init_post_opt or task_init. The plugin
// itself has none.
#pragma once

#include <string>
#include <string_view>

namespace lockstep::spank {

#ifdef LOCKSTEP_SPANK_FAULTS
inline constexpr bool faults_built_in = true;
#else
inline constexpr bool faults_built_in = false;
#endif

struct Fault {
  std::string callback;  // empty: none
  bool standard = true;  // a std::exception; else an int
};

Fault parse_fault(std::string_view text);

// Throws if the fault is meant for this callback.
void inject(const Fault& fault, std::string_view callback);

}  // namespace lockstep::spank
