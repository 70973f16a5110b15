// Which versions run, and whether they are the same on all nodes.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <set>

#include "core/subprocess.h"
#include "core/text.h"
#include "device/cpu/cpu_device.h"
#include "device/open_device.h"
#include "doctor/machine.h"
#include "doctor/probes.h"

namespace lockstep::doctor {

namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

std::string launcher() {
  if (!environment("OMPI_MCA_ess_base_jobid").empty() || !environment("PRTE_LAUNCHED").empty())
    return "mpirun";
  if (!environment("SLURM_STEP_ID").empty() && !environment("PMIX_RANK").empty()) return "srun";
  return environment("PMIX_RANK").empty() ? "none: a process by itself" : "a PMIx launcher";
}

void look(Context& context, Facts& mine) {
  // "MPI           built with ..., running ...": the name is what comes before two blanks.
  for (const std::string& line : split(context.software, '\n')) {
    const auto gap = line.find("  ");
    if (line.starts_with("lockstep ")) {
      mine["Lockstep"] = line.substr(9);
    } else if (gap != std::string::npos) {
      mine[line.substr(0, gap)] = std::string(trim(std::string_view(line).substr(gap)));
    }
  }
  mine["launcher"] = launcher();
  const std::string pmix = environment("PMIX_VERSION");
  mine["PMIx"] = pmix.empty() ? "not told by the launcher" : pmix;
  mine["kernel"] = first_line("/proc/sys/kernel/osrelease");
  const device::FoundGpus found = device::find_gpus("auto");
  mine["GPUs"] = !found.gpus.empty()    ? fmt::format("{} x {}", found.gpus.size(), found.gpus.front().name)
                 : found.reason.empty() ? std::string("none: this node has no NVIDIA driver")
                                        : "none: " + found.reason;
  mine["bits"] = device::CpuDevice(1).description();
  // Clients of a node are asked once, not by each of its ranks.
  bool first_on_node = true;
  for (int r = 0; r < context.rank(); ++r) {
    first_on_node = first_on_node && context.meeting.host(r) != context.meeting.host(context.rank());
  }
  if (!first_on_node) return;
  const CommandResult slurm = run_command({"scontrol", "--version"}, std::chrono::seconds(5));
  mine["Slurm"] = slurm.ok()               ? std::string(trim(slurm.output))
                  : slurm.exit_code == 127 ? "no scontrol in PATH"
                                           : "scontrol finds no cluster here";
}

void report(const Findings&, Section& section) {
  const Facts& first = section.ranks.front().facts;
  for (const char* name :
       {"Lockstep", "launcher", "MPI", "PMIx", "HDF5", "oneDNN", "GPUs", "Slurm", "kernel"}) {
    if (const std::string text = text_of(first, name); !text.empty()) section.rows.push_back({name, text});
  }
  std::set<std::string> told;
  for (const RankFacts& rank : section.ranks) {
    for (const auto& [key, value] : rank.facts) {
      if (value == text_of(first, key) || !told.insert(key).second) continue;
      const bool bits = key == "bits" || key == "Lockstep" || key == "oneDNN";
      section.warnings.push_back(fmt::format(
          "{} differs: {} on {}, {} on {}{}", key == "bits" ? "what results depend on" : key,
          text_of(first, key), section.ranks.front().node, value, rank.node,
          bits ? "; train.reduction = exact needs the same everywhere (sbatch --constraint)" : ""));
    }
  }
}

}  // namespace

Probe software_probe() {
  return {"software", "versions of Lockstep and its libraries, differences between nodes",
          [] { return std::vector<Stage>{{look}}; }, report};
}

}  // namespace lockstep::doctor
