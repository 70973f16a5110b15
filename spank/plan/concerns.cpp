#include "plan/concerns.h"

#include <array>

namespace lockstep::spank {

std::span<const ListedConcern> all_concerns() {
  static constexpr std::array<ListedConcern, 9> concerns = {{
      {set_rendezvous, false},
      {set_torch, false},
      {set_hcas, true},
      {set_interface, true},
      {set_topology, true},
      {set_limits, true},
      {set_debug_file, false},
      {look_at_gpus, true},
      {look_at_files, false},
  }};
  return concerns;
}

}  // namespace lockstep::spank
