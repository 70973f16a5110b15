#include "plan/plan.h"

namespace lockstep::spank {

const Decision* Plan::find(std::string_view variable) const {
  for (const Decision& decision : decisions) {
    if (decision.variable == variable) return &decision;
  }
  return nullptr;
}

}  // namespace lockstep::spank
