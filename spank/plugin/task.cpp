#include "plugin/task.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <utility>

#include "machine/machine.h"
#include "plan/launcher.h"
#include "plan/make_plan.h"
#include "plan/user_file.h"
#include "plugin/job.h"
#include "plugin/log.h"
#include "plugin/options.h"
#include "plugin/report.h"
#include "site/nccl_conf.h"
#include "site/profile.h"
#include "step/step.h"

namespace lockstep::spank {

namespace {

constexpr std::chrono::milliseconds reading_limit{100};

std::string value_or(const Environment& environment, std::string_view name, std::string_view otherwise) {
  const auto value = find(environment, name);
  return value && !value->empty() ? *value : std::string(otherwise);
}

std::optional<NcclConf> user_file_of(const Environment& environment, const UserOptions& options) {
  const auto path = user_file_path(environment, options, ::getuid());
  return path.empty() ? std::nullopt : read_nccl_conf(path);
}

SiteConfig site_of(const PluginArguments& arguments) {
  return arguments.config.empty() ? SiteConfig{} : read_site_config(arguments.config);
}

void add_problem(Plan& plan, std::string text, std::string remedy) {
  plan.findings.push_back({Finding::Severity::problem, std::move(text), std::move(remedy), false});
}

// All that is known of a task once its environment has been read.
struct Task {
  const PluginArguments& arguments;
  const Environment& environment;
  AskedFor asked;
  Step step;
};

// Without profiles nothing can be said about this machine: nothing is set.
Plan plan_without_profiles(const SiteConfigError& error) {
  Plan plan;
  add_problem(plan, fmt::format("nothing was set up: {}", error.what()), "tell the cluster's administrators");
  return plan;
}

Plan plan_for(const Task& task, const Machine& machine, const Profile& profile, std::uint64_t site_hash,
              Mode mode) {
  const auto root = root_for(task.arguments, task.step.node);
  const auto user_file = user_file_of(task.environment, task.asked.options);
  const auto site_file = read_nccl_conf(root / "etc/nccl.conf");
  Plan plan = make_plan({.step = task.step,
                         .machine = machine,
                         .environment = task.environment,
                         .options = task.asked.options,
                         .profile = profile,
                         .site_hash = site_hash,
                         .user_file = user_file ? &*user_file : nullptr,
                         .site_file = site_file ? &*site_file : nullptr,
                         .home = value_or(task.environment, "HOME", ""),
                         .temporary = value_or(task.environment, "TMPDIR", "/tmp"),
                         // Whoever asks by name for more than `auto` wants to hear of everything.
                         .tell_all = mode != Mode::automatic});
  for (const std::string& complaint : task.asked.complaints) {
    add_problem(plan, complaint, "what it asked for is left out");
  }
  return plan;
}

// Off, because nobody can tell what else was meant; but not in silence.
int tell_of_unclear_mode(const AskedFor& asked, const Step& step) {
  Plan plan;
  for (const std::string& complaint : asked.complaints) {
    add_problem(plan, complaint, "nothing is set up");
  }
  tell_findings(plan, step);
  return 0;
}

int report(const Plan& plan, const Step& step, Mode mode) {
  if (mode == Mode::show && step.rank == 0) tell_table(plan);
  tell_findings(plan, step);
  if (mode != Mode::strict || !has_problem(plan)) return 0;
  if (step.local_rank == 0) {
    tell(fmt::format(
        "strict: the tasks on {} end before their program starts{}", step.node,
        step.nodes > 1 ? "; those on other nodes go on unless srun has --kill-on-bad-exit=1" : ""));
  }
  return -1;
}

}  // namespace

int set_up_task(spank_t spank, State& state) {
  if (state.inert || !is_program_step(spank)) return 0;
  const auto begin = std::chrono::steady_clock::now();
  const Environment environment = environment_of(spank);
  note_own_options(state, environment);
  AskedFor asked = read_user_options(state.given, environment);
  const std::optional<Mode> wish = asked.options.mode;
  const Mode by_default = state.arguments.mode.value_or(Mode::automatic);
  state.strict = wish.value_or(by_default) == Mode::strict;
  if (asked.mode_is_unclear) return tell_of_unclear_mode(asked, read_step(environment, {}));
  if (wish == Mode::off) return 0;
  inject(state.arguments.fault, "task_init");

  std::vector<std::string> command = command_of(spank);
  if (is_mpi_daemon(command)) return 0;
  const Task task{state.arguments, environment, std::move(asked), read_step(environment, std::move(command))};
  SiteConfig site;
  try {
    site = site_of(state.arguments);
  } catch (const SiteConfigError& error) {
    const Mode mode = wish.value_or(by_default);
    return mode == Mode::off ? 0 : report(plan_without_profiles(error), task.step, mode);
  }
  const Machine machine = read_machine({root_for(state.arguments, task.step.node), reading_limit});
  const Profile profile = choose_profile(site, task.step.node, machine);
  const Mode mode = wish.value_or(profile.mode.value_or(by_default));
  state.strict = mode == Mode::strict;
  if (mode == Mode::off) return 0;

  Plan plan = plan_for(task, machine, profile, site.hash, mode);
  if (mode != Mode::warn) {
    for (std::string& failure : make_changes(spank, changes_of(plan, environment))) {
      plan.findings.push_back({Finding::Severity::problem, std::move(failure), "", true});
    }
  }
  const int result = report(plan, task.step, mode);
  const auto spent =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
  debug(fmt::format("set up in {} ms", spent.count()));
  return result;
}

}  // namespace lockstep::spank
