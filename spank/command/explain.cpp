// nccl-setup explain: what the plugin would set for a step on a node, and why.
#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "command/command.h"
#include "command/example_step.h"
#include "command/node.h"
#include "command/other_step.h"
#include "command/profile_mismatch.h"
#include "command/site_file.h"
#include "core/error.h"
#include "core/text.h"
#include "plan/make_plan.h"
#include "plan/table.h"
#include "plan/user_file.h"
#include "plan/user_options.h"
#include "step/clean_text.h"

namespace lockstep::spank {

namespace {

constexpr std::array options = {
    Option{"--root", "DIR|FILE.tar", "a captured node instead of this one"},
    Option{"--config", "FILE|none",
           "the site's file; default: /etc/slurm/nccl-setup.conf where there is one"},
    Option{"--node", "NAME", "the node's name, for profiles that match by it"},
    Option{"--env", "KEY=VALUE", "a variable of the job's; may be repeated"},
    Option{"--nodes", "N", "nodes of the step that is made up; default: 2"},
    Option{"--ntasks-per-node", "N", "its tasks on each node; default: one for each GPU"},
    Option{"--torch", "auto|on|off", "as --nccl-torch of srun"},
};

int many(const Arguments& arguments, const char* name, int otherwise) {
  return arguments.number(name, 1, 100'000).value_or(otherwise);
}

void add_given(const Arguments& arguments, Environment& environment) {
  for (const std::string& given : arguments.values("--env")) {
    const std::size_t equals = given.find('=');
    if (equals == 0 || equals == std::string::npos) {
      throw Error(ExitCode::usage, fmt::format("--env {}: write KEY=VALUE", given));
    }
    environment[given.substr(0, equals)] = given.substr(equals + 1);
  }
}

// Around this process, unless the command line asks for another one.
bool explains_own_step(const Arguments& arguments, const Environment& own) {
  for (const char* other : {"--root", "--node", "--nodes", "--ntasks-per-node"}) {
    if (arguments.has(other)) return false;
  }
  return in_step(own);
}

Environment make_up_step(const Arguments& arguments, const Node& node, const Environment& own) {
  const int gpus = static_cast<int>(node.machine.gpus().size());
  ExampleStep step{node.name, many(arguments, "--nodes", 2),
                   many(arguments, "--ntasks-per-node", gpus == 0 ? 1 : gpus), gpus};
  Environment environment = environment_of(step);
  // What the shell holds says nothing about another node.
  if (!node.root.captured()) environment.merge(without_slurm(own));
  return environment;
}

std::optional<SiteFile> site_of(const Arguments& arguments, const NodeRoot& root) {
  if (const auto given = arguments.value("--config")) {
    return *given == "none" ? std::nullopt : std::optional(read_site_file(*given, *given));
  }
  const auto path = root.find(default_site_file);
  if (!path) return std::nullopt;
  SiteFile site = read_site_file(*path, default_site_file);
  // Whoever unpacks a capture owns its files.
  if (root.captured()) site.refusals.clear();
  return site;
}

std::optional<NcclConf> user_conf_of(const NodeRoot& root, const Environment& environment,
                                     const UserOptions& options) {
  if (root.captured()) return std::nullopt;
  const auto path = user_file_path(environment, options, ::getuid());
  return path.empty() ? std::nullopt : read_nccl_conf(path);
}

UserOptions user_options_of(const Arguments& arguments, const Environment& environment) {
  AskedFor asked = read_user_options({}, environment);
  for (const std::string& complaint : asked.complaints) {
    fmt::print(stderr, "nccl-setup: {}\n", clean_text(complaint));
  }
  if (const auto torch = arguments.value("--torch")) {
    asked.options.torch = parse_torch_mode(*torch);
    if (!asked.options.torch) {
      throw Error(ExitCode::usage, fmt::format("--torch {}: write auto, on or off", *torch));
    }
  }
  return asked.options;
}

std::string joined(const char* what, const std::vector<std::string>& patterns) {
  return patterns.empty() ? "" : fmt::format(", {} {}", what, fmt::join(patterns, " or "));
}

std::string why(const Profile& profile, const SiteConfig& config) {
  if (config.file.empty()) return "no site's file: rules alone";
  if (profile.file.empty()) return fmt::format("no profile of {} matches: rules alone", config.file);
  const std::string matches =
      joined("node", profile.nodes) + joined("PCI device", profile.pci) + joined("product", profile.products);
  return fmt::format("{}:{}, {}", profile.file, profile.line,
                     matches.empty() ? "for every node" : "matches " + matches.substr(2));
}

// The user's word, as far as it is in the environment, or the profile's.
std::string mode_line(const UserOptions& user, const Profile& profile) {
  const auto mode = user.mode ? user.mode : profile.mode;
  if (!mode) return {};
  const bool idle = *mode == Mode::off || *mode == Mode::warn;
  return fmt::format("mode     {}, {}{}\n", name_of(*mode),
                     user.mode ? "by LOCKSTEP_NCCL" : "unless the job asks for another one",
                     idle ? ": the plugin sets nothing of what follows" : "");
}

void print_headline(const Node& node, const SiteConfig& config, const Profile& profile, const Step& step,
                    const UserOptions& user, bool own) {
  fmt::print("node     {}: {}{}\n", clean_text(node.name), hardware_of(node.machine),
             node.machine.product.empty() ? "" : fmt::format(" ({})", node.machine.product));
  fmt::print("profile  {} ({})\n", profile.name, clean_text(why(profile, config)));
  if (profile.file.empty()) {
    for (const std::string& line : mismatches(config, step.node, node.machine)) {
      fmt::print("         {}\n", clean_text(line));
    }
  }
  fmt::print("{}", mode_line(user, profile));
  fmt::print("step     {} on {}{}\n\n", count_of(static_cast<std::size_t>(step.ranks), "task"),
             count_of(static_cast<std::size_t>(step.nodes), "node"),
             own ? ", the one around this command"
                 : ", made up, ports too; --nodes and --ntasks-per-node choose another");
}

std::vector<Finding> findings_about(const Node& node, const std::optional<SiteFile>& site) {
  std::vector<Finding> findings;
  for (const Refusal& refusal : site ? site->refusals : std::vector<Refusal>{}) {
    findings.push_back({Finding::Severity::problem, refusal.reason, refusal.remedy});
  }
  const MachineSource plugin;
  const bool slow = node.reading > plugin.limit || node.waiting > plugin.wall_limit;
  if (slow && !node.root.captured()) {
    findings.push_back(
        {Finding::Severity::advice,
         fmt::format("reading sysfs took {} ms of CPU time, {} ms in all: the plugin stops at {} and {} ms, "
                     "and chooses no interface and no HCA",
                     node.reading.count(), node.waiting.count(), plugin.limit.count(),
                     plugin.wall_limit.count()),
         "try again on the idle node; a driver that answers slowly is worth a look"});
  }
  return findings;
}

// What the plugin has done in the step around this process, as far as it is not what the table says.
void print_own_step(const Plan& plan, const Environment& environment) {
  if (!plugin_has_set(environment)) {
    fmt::print("\nthe plugin has set nothing in this step: mode off or warn, or it is not installed here\n");
    return;
  }
  if (const std::string other = other_site_file(plan, environment); !other.empty()) {
    fmt::print("\n{}; name the one in plugstack.conf with --config FILE, or none\n", other);
  }
  const std::vector<std::string> lines = differences(plan, environment);
  if (lines.empty()) return;
  fmt::print("\nin this step's environment instead:\n");
  for (const std::string& line : lines) fmt::print("  {}\n", clean_text(line));
}

int run(const Arguments& arguments) {
  arguments.refuse_plain();
  const Environment process = own_environment();
  const bool own = explains_own_step(arguments, process);
  const Node node = look_at_node(NodeRoot(arguments.value("--root")), arguments.value("--node"), process);
  const auto site = site_of(arguments, node.root);
  Environment environment = own ? process : make_up_step(arguments, node, process);
  add_given(arguments, environment);
  const auto site_conf = nccl_conf_of(node.root);
  const Step step = read_step(environment, arguments.command());
  const UserOptions user = user_options_of(arguments, environment);
  const auto user_file = user_conf_of(node.root, environment, user);
  const SiteConfig config = site ? site->config : SiteConfig{};
  const Profile profile = choose_profile(config, step.node, node.machine);
  // No folder for temporary files: an explanation leaves nothing behind.
  const Plan plan = make_plan({step, node.machine, environment, user, profile, config.hash,
                               user_file ? &*user_file : nullptr, site_conf ? &*site_conf : nullptr,
                               find(environment, "HOME").value_or(""), ""});

  print_headline(node, config, profile, step, user, own);
  for (const std::string& line : table_of(plan)) fmt::print("{}\n", line);
  if (own) print_own_step(plan, process);
  std::vector<Finding> findings = plan.findings;
  for (Finding& finding : findings_about(node, site)) findings.push_back(std::move(finding));
  fmt::print("\n");
  bool problem = false;
  for (const Finding& finding : findings) {
    fmt::print("{}\n", line_of(finding));
    problem = problem || finding.severity == Finding::Severity::problem;
  }
  if (findings.empty()) fmt::print("no problem found\n");
  return problem ? 1 : 0;
}

int run_and_name_the_file(const Arguments& arguments) {
  try {
    return run(arguments);
  } catch (const SiteConfigError& error) {
    throw Error(ExitCode::bad_config, fmt::format("{}; until then the plugin does nothing", error.what()));
  }
}

}  // namespace

Command explain_command() {
  return {
      "explain",
      "[OPTIONS] [-- PROGRAM ARGUMENTS]",
      "show what the plugin would set on a node, and why",
      "Shows for rank 0 of a step: each variable, its value, where it comes from and why; then what is\n"
      "wrong. Inside a step it explains that step, and lists what its environment has instead; options of\n"
      "srun are seen only so. PROGRAM tells launchers such as torchrun from others.\n"
      "Exit code 0: no problem; 1: at least one; 78: the site's file is wrong.\n",
      options,
      run_and_name_the_file};
}

}  // namespace lockstep::spank
