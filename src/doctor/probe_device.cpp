// What each rank computes on, chosen as training does it.
#include <fmt/format.h>

#include <memory>

#include "core/cpus.h"
#include "device/gpu.h"
#include "device/open_device.h"
#include "doctor/compute_device.h"
#include "doctor/probes.h"
#include "train/rank_device.h"

namespace lockstep::doctor {

namespace {

void look(Context& context, Facts& mine) {
  mine = context.patience.run("look for GPUs", [kind = context.device_kind] {
    const device::FoundGpus found = device::find_gpus(kind);
    return Facts{{"gpus", fmt::format("{}", found.gpus.size())},
                 {"gpus_seen", device::to_text(device::view_of(found.gpus, usable_cpu_set(), "/sys"))},
                 {"no_gpu", found.reason}};
  });
}

ComputeDevice choose(Context& context, Facts& mine) {
  std::vector<device::GpuView> views;
  std::vector<std::string> nodes;
  for (const RankFacts& rank : context.findings.at("device")) {
    views.push_back(device::gpu_view(text_of(rank.facts, "gpus_seen")));
    nodes.push_back(rank.node);
  }
  train::require_one_kind(views, nodes);
  ComputeDevice chosen;
  chosen.threads = context.threads;
  if (context.resolved != nullptr) chosen.memory_share = context.resolved->config.train.device_memory;
  if (!views.front().ids.empty()) chosen.gpu = train::choose_gpu(views, nodes, context.rank());
  mine.merge(context.patience.run(chosen.gpu ? "open the GPU" : "open the CPU", [chosen] {
    return Facts{{"device", chosen.open()->description()}};
  }));
  return chosen;
}

// Where one rank cannot have its device, nobody computes: the others would wait for it.
std::vector<Stage> stages() {
  const auto chosen = std::make_shared<ComputeDevice>();
  return {{look},
          {[chosen](Context& context, Facts& mine) { *chosen = choose(context, mine); }},
          {[chosen](Context& context, Facts&) { context.device = *chosen; }}};
}

void report(const Findings&, Section& section) {
  const Facts& first = section.ranks.front().facts;
  if (const std::string device = text_of(first, "device"); !device.empty()) {
    section.rows.push_back({"device", device});
  }
  if (const std::string reason = text_of(first, "no_gpu"); !reason.empty()) {
    section.rows.push_back({"no GPU", reason});
  }
  if (number_of(first, "gpus").value_or(0) == 0) return;
  for (const RankFacts& rank : section.ranks) {
    const std::string own = text_of(rank.facts, "device");
    if (own.empty() || own == text_of(first, "device")) continue;
    section.warnings.push_back(
        fmt::format("{} computes on {}, {} on {}: all wait for the slower one, and train.reduction = exact "
                    "needs the same everywhere (sbatch --constraint)",
                    name_of(rank), own, name_of(section.ranks.front()), text_of(first, "device")));
  }
}

}  // namespace

Probe device_probe() {
  return {"device", "what each rank computes on: a GPU of its own, or the CPU", stages, report};
}

}  // namespace lockstep::doctor
