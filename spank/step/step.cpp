#include "step/step.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "core/text.h"
#include "step/port_list.h"
#include "step/rank0.h"
#include "step/task_layout.h"

namespace lockstep::spank {

namespace {

constexpr int max_tasks = 1 << 24;  // above Slurm's own limits

// Of the first variable that holds a whole number from `least` to `most`.
std::optional<int> number(const Environment& environment, std::initializer_list<std::string_view> names,
                          int least, int most = max_tasks) {
  for (const std::string_view name : names) {
    const auto value = parse_int(find(environment, name).value_or(""));
    if (value && *value >= least && *value <= most) return static_cast<int>(*value);
  }
  return std::nullopt;
}

std::string text(const Environment& environment, std::string_view name) {
  return find(environment, name).value_or("");
}

// Bytes; 'U' before the number says that the user has asked for it (--propagate).
std::optional<std::uint64_t> parse_limit(std::string_view limit) {
  if (limit.starts_with('U')) limit.remove_prefix(1);
  std::uint64_t bytes = 0;
  const auto [end, error] = std::from_chars(limit.data(), limit.data() + limit.size(), bytes);
  if (error != std::errc{} || end != limit.data() + limit.size()) return std::nullopt;
  return bytes;
}

// As CUDA counts: an entry that is no device ends the list. Slurm writes NoDevFiles where a task has none.
int count_devices(std::string_view list) {
  int devices = 0;
  for (const std::string& entry : split(list, ',')) {
    if (entry.empty() || entry.front() == '-' || entry == "NoDevFiles") break;
    ++devices;
  }
  return devices;
}

TaskLayout read_layout(const Environment& environment, const Step& step) {
  TaskLayout layout;
  if (const auto ranks = parse_ranks(text(environment, "SLURM_GTIDS"))) {
    const bool ours = std::find(ranks->begin(), ranks->end(), step.rank) != ranks->end();
    if (ours) layout.ranks_here = *ranks;
  }
  if (const auto tasks = parse_tasks_per_node(text(environment, "SLURM_STEP_TASKS_PER_NODE"))) {
    layout.tasks_per_node = *tasks;
  }
  return layout;
}

void set_layout(Step& step, const TaskLayout& layout) {
  const std::vector<int>& tasks = layout.tasks_per_node;
  step.even = tasks.empty()
                  ? step.ranks % step.nodes == 0
                  : std::adjacent_find(tasks.begin(), tasks.end(), std::not_equal_to<>()) == tasks.end();
  const int here = static_cast<int>(layout.ranks_here.size());
  const int on_average = (step.ranks + step.nodes - 1) / step.nodes;
  step.local_ranks = std::max(here > 0 ? here : on_average, step.local_rank + 1);
}

}  // namespace

Step read_step(const Environment& environment, std::vector<std::string> command) {
  Step step;
  step.job = text(environment, "SLURM_JOB_ID");
  step.step = text(environment, "SLURM_STEP_ID");
  step.restart = number(environment, {"SLURM_RESTART_COUNT"}, 0).value_or(0);
  step.rank = number(environment, {"SLURM_PROCID"}, 0).value_or(0);
  // Variables without STEP may be the job's: a batch script hands them on to the steps that it starts.
  step.ranks = number(environment, {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}, 1).value_or(1);
  step.local_rank = number(environment, {"SLURM_LOCALID"}, 0).value_or(0);
  step.node_index = number(environment, {"SLURM_NODEID"}, 0).value_or(0);
  step.nodes = number(environment, {"SLURM_STEP_NUM_NODES", "SLURM_NNODES"}, 1).value_or(1);
  step.node = text(environment, "SLURMD_NODENAME");

  const TaskLayout layout = read_layout(environment, step);
  set_layout(step, layout);
  Rank0 rank0 = find_rank0(environment, step, layout);
  step.rank0_node = std::move(rank0.node);
  step.rank0_note = std::move(rank0.note);
  step.heterogeneous = rank0.heterogeneous;
  // Components have the same list: srun joins what was reserved for each.
  step.reserved_ports =
      parse_port_list(text(environment, "SLURM_STEP_RESV_PORTS")).value_or(std::vector<int>());

  step.topology_address = text(environment, "SLURM_TOPOLOGY_ADDR");
  step.topology_pattern = text(environment, "SLURM_TOPOLOGY_ADDR_PATTERN");
  step.gpus_on_node = number(environment, {"SLURM_GPUS_ON_NODE"}, 0);
  if (const auto devices = find(environment, "CUDA_VISIBLE_DEVICES"))
    step.visible_gpus = count_devices(*devices);
  if (const auto limit = find(environment, "SLURM_RLIMIT_MEMLOCK")) {
    step.memlock = parse_limit(*limit);
    step.memlock_asked_for = limit->starts_with('U');
  }
  step.command = std::move(command);
  return step;
}

}  // namespace lockstep::spank
