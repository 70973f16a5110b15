#include "plan/concerns.h"

#include <array>

namespace lockstep::spank {

std::span<const Concern> all_concerns() {
  static constexpr std::array concerns = {set_rendezvous, set_torch,    set_hcas,
                                          set_interface,  set_topology, set_limits,
                                          set_debug_file, look_at_gpus, look_at_files};
  return concerns;
}

}  // namespace lockstep::spank
