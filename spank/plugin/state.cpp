#include "plugin/state.h"

namespace lockstep::spank {

State& state() noexcept {
  static State state;
  return state;
}

}  // namespace lockstep::spank
