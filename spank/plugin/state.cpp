#include "plugin/state.h"

namespace lockstep::spank {

State& state() noexcept {
  static State state;
  return state;
}

int become_inert() noexcept {
  state().inert = true;
  return 0;
}

}  // namespace lockstep::spank
