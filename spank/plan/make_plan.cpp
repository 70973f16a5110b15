#include "plan/make_plan.h"

#include <algorithm>

#include "core/text.h"
#include "plan/applied.h"
#include "plan/concerns.h"
#include "plan/digest.h"

namespace lockstep::spank {

namespace {

// What an outer step's plugin has set is no wish of the user: it is worked out anew.
Environment without_applied(const Environment& environment) {
  Environment rest = environment;
  for (const std::string& variable : applied_variables(environment)) rest.erase(variable);
  rest.erase(applied_variable);
  rest.erase(digest_variable);
  return rest;
}

// A step for which Slurm has reserved nothing (--resv-ports=0) inherits the list of the step that it was
// started in, whose ports are in use.
Step without_inherited_ports(Step step, const Environment& environment) {
  const std::vector<std::string> applied = applied_variables(environment);
  if (std::find(applied.begin(), applied.end(), "MASTER_PORT") == applied.end()) return step;
  const auto port = parse_int(find(environment, "MASTER_PORT").value_or(""));
  if (port &&
      std::find(step.reserved_ports.begin(), step.reserved_ports.end(), *port) != step.reserved_ports.end()) {
    step.reserved_ports.clear();
  }
  return step;
}

bool holds_gpus(const Step& step) {
  return step.visible_gpus ? *step.visible_gpus > 0 : step.gpus_on_node.value_or(0) > 0;
}

}  // namespace

Plan make_plan(const PlanInputs& inputs) {
  const Environment environment = without_applied(inputs.environment);
  const Profile& profile = inputs.profile;
  Settings settings({inputs.options, environment, inputs.user_file, profile, inputs.site_file});
  const Step step = without_inherited_ports(inputs.step, inputs.environment);
  const Facts facts{step,
                    inputs.machine,
                    profile,
                    inputs.user_file,
                    inputs.site_file,
                    inputs.options.torch.value_or(profile.torch.value_or(TorchMode::automatic)),
                    inputs.home,
                    inputs.temporary};
  const bool tell_all = inputs.tell_all || holds_gpus(step);
  for (const ListedConcern& concern : all_concerns()) {
    const std::size_t before = settings.findings();
    concern.decide(facts, settings);
    if (concern.tells_gpu_steps_only && !tell_all) settings.forget_findings(before);
  }
  Plan plan = std::move(settings).take();
  plan.profile = profile.name;
  plan.digest = digest_of(plan, inputs.site_hash, inputs.machine.driver);
  return plan;
}

std::vector<Change> changes_of(const Plan& plan, const Environment& environment) {
  std::vector<Change> changes;
  std::map<std::string, std::string> applied;
  for (const Decision& decision : plan.decisions) {
    // A variable that the user has set to the empty value is set.
    const bool ours = decision.source == Source::option || decision.source == Source::profile ||
                      decision.source == Source::rule;
    if (!ours) continue;
    if (decision.value) applied[decision.variable] = *decision.value;
    if (find(environment, decision.variable) != decision.value) {
      changes.push_back({decision.variable, decision.value});
    }
  }
  // What an outer step was given and this one is not.
  for (const std::string& variable : applied_variables(environment)) {
    const Decision* decision = plan.find(variable);
    if (decision == nullptr || decision->in_files) changes.push_back({variable, std::nullopt});
  }
  const auto mark = [&](const char* variable, const std::string& value) {
    if (find(environment, variable) != value) changes.push_back({variable, value});
  };
  mark(digest_variable, plan.digest);
  mark(applied_variable, describe_applied(applied));
  return changes;
}

}  // namespace lockstep::spank
