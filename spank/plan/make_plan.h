// From facts to plan: the one entry for the plugin and for `nccl-setup explain`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "machine/machine.h"
#include "plan/plan.h"
#include "plan/settings.h"
#include "site/profile.h"
#include "step/step.h"

namespace lockstep::spank {

struct PlanInputs {
  const Step& step;
  const Machine& machine;
  const Environment& environment;  // of the task, values of an outer step included
  const UserOptions& options;
  const Profile& profile;   // choose_profile's
  std::uint64_t site_hash;  // SiteConfig::hash
  const NcclConf* user_file = nullptr;
  const NcclConf* site_file = nullptr;
  std::string home;
  std::string temporary;  // as Facts::temporary
  // Also what matters to programs on GPUs alone, to a step that holds none.
  bool tell_all = true;
};

Plan make_plan(const PlanInputs& inputs);

// A change of the environment: set to a value, or unset.
struct Change {
  std::string variable;
  std::optional<std::string> value;
};

// What must be done to `environment` so that the plan is in effect, LOCKSTEP_NCCL_APPLIED (see applied.h)
// included.
std::vector<Change> changes_of(const Plan& plan, const Environment& environment);

}  // namespace lockstep::spank
