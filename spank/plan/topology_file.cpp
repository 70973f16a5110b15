// NCCL_TOPO_FILE: checked as NCCL reads it and against this node, whoever set it; and the node's place in
// Slurm's network topology for the trainer.
#include <fmt/format.h>

#include "core/error.h"
#include "plan/concern.h"
#include "step/clean_text.h"
#include "topology/generate.h"
#include "topology/switch_path.h"
#include "topology/topology_path.h"

namespace lockstep::spank {

namespace {

constexpr const char* variable = "NCCL_TOPO_FILE";
constexpr const char* how_to_write = "`nccl-setup topo > FILE` writes one for this node";

// What is wrong with the file on this node; empty: nothing.
std::string complaint(const std::string& path, const Machine& machine) {
  const TopologyFile file = read_topology(path);
  switch (file.verdict) {
    case TopologyFile::Verdict::ignored:
      return fmt::format("NCCL passes over it in silence: {}", file.reason);
    case TopologyFile::Verdict::fatal:
      return fmt::format("NCCL fails on it: {}", file.reason);
    case TopologyFile::Verdict::loaded:
      break;
  }
  const std::vector<std::string> differences = misfits(*file.system, machine);
  if (differences.empty()) return {};
  const std::size_t others = differences.size() - 1;
  return fmt::format("it does not fit this node: it {}{}", differences.front(),
                     others == 0 ? "" : fmt::format(" (and {} more)", others));
}

void set_profile_file(const Facts& facts, Settings& settings) {
  const std::string& path = facts.profile.topology;
  if (const std::string wrong = complaint(path, facts.machine); !wrong.empty()) {
    settings.warn(
        fmt::format("topology file {} of profile {}: {}", path, facts.profile.name, wrong),
        fmt::format("it is not set; mend the file, or `topology` in the profile: {}", how_to_write));
    return;
  }
  settings.propose_for_profile(
      variable, path,
      facts.machine.complete ? "the profile's topology file, which fits this node"
                             : "the profile's topology file; this node was too slow to compare it with");
}

void generate_file(const Facts& facts, Settings& settings) {
  if (!facts.machine.complete) {
    settings.advise("no topology file is generated: sysfs could not be read in time",
                    "give a file of the profile instead: `topology = FILE`");
    return;
  }
  const std::string text = generate_topology(facts.machine);
  if (text.empty()) return;
  if (facts.temporary.empty()) {
    settings.propose_for_profile(variable, generated_name(text), "would be written from sysfs for this node");
    return;
  }
  try {
    settings.propose_for_profile(variable, place_generated(facts.temporary, text).string(),
                                 "written from sysfs for this node");
  } catch (const Error& error) {
    settings.warn(fmt::format("no topology file is generated: {}", error.what()),
                  "make the folder writable, or give a file of the profile: `topology = FILE`");
  }
}

bool is_users(Source source) {
  return source == Source::option || source == Source::user || source == Source::user_file;
}

// An empty value is how one switches off the file of /etc/nccl.conf.
void check_given_file(const Decision& given, const Facts& facts, Settings& settings) {
  if (given.value->empty() || (facts.machine.gpus().empty() && !is_users(given.source))) return;
  const std::string wrong = complaint(*given.value, facts.machine);
  if (wrong.empty()) return;
  const bool in_file = given.source != Source::option && given.source != Source::user;
  settings.warn(fmt::format("{}={} ({}): {}", variable, clean_text(*given.value), given.origin, wrong),
                in_file ? fmt::format("mend {}, or override it by --nccl-set={}=FILE: {}", given.origin,
                                      variable, how_to_write)
                        : fmt::format("take it out by --nccl-unset={}, or name a file that fits: {}",
                                      variable, how_to_write));
}

void set_file(const Facts& facts, Settings& settings) {
  const Decision* given = settings.find(variable);
  if (settings.may_set(variable) && !facts.profile.topology.empty() && !facts.machine.gpus().empty()) {
    if (facts.profile.topology == "generate") {
      generate_file(facts, settings);
    } else {
      set_profile_file(facts, settings);
    }
    given = settings.find(variable);
    if (given != nullptr && given->source == Source::profile) return;
  }
  if (given != nullptr) check_given_file(*given, facts, settings);
}

void set_switch_path(const Facts& facts, Settings& settings) {
  const std::string path = switch_path(facts.step.topology_address, facts.step.topology_pattern);
  if (path.empty()) return;
  settings.propose("LOCKSTEP_TOPOLOGY", path, "Slurm's topology: the trainer puts neighbours side by side");
}

}  // namespace

void set_topology(const Facts& facts, Settings& settings) {
  set_file(facts, settings);
  set_switch_path(facts, settings);
}

}  // namespace lockstep::spank
