#include "command/example_step.h"

#include <fmt/format.h>

namespace lockstep::spank {

namespace {

std::string nodelist_of(const ExampleStep& step) {
  if (step.nodes == 1) return step.node;
  return fmt::format("{},other[1-{}]", step.node, step.nodes - 1);
}

std::string numbers_up_to(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("{}{}", i == 0 ? "" : ",", i);
  return text;
}

}  // namespace

Environment environment_of(const ExampleStep& step) {
  const std::string nodes = fmt::format("{}", step.nodes);
  const std::string tasks = fmt::format("{}", step.nodes * step.tasks_per_node);
  const std::string per_node = step.nodes == 1 ? fmt::format("{}", step.tasks_per_node)
                                               : fmt::format("{}(x{})", step.tasks_per_node, step.nodes);
  Environment environment = {
      {"SLURM_JOB_ID", "1"},
      {"SLURM_STEP_ID", "0"},
      {"SLURM_PROCID", "0"},
      {"SLURM_LOCALID", "0"},
      {"SLURM_NODEID", "0"},
      {"SLURM_NTASKS", tasks},
      {"SLURM_STEP_NUM_TASKS", tasks},
      {"SLURM_NNODES", nodes},
      {"SLURM_STEP_NUM_NODES", nodes},
      {"SLURM_JOB_NODELIST", nodelist_of(step)},
      {"SLURM_STEP_NODELIST", nodelist_of(step)},
      {"SLURM_TASKS_PER_NODE", per_node},
      {"SLURM_STEP_TASKS_PER_NODE", per_node},
      {"SLURM_DISTRIBUTION", "block"},
      {"SLURMD_NODENAME", step.node},
  };
  if (step.gpus > 0) {
    environment["SLURM_GPUS_ON_NODE"] = fmt::format("{}", step.gpus);
    environment["CUDA_VISIBLE_DEVICES"] = numbers_up_to(step.gpus);
  }
  return environment;
}

Environment without_slurm(const Environment& environment) {
  Environment rest;
  for (const auto& [name, value] : environment) {
    if (!name.starts_with("SLURM_") && !name.starts_with("SLURMD_")) rest.emplace(name, value);
  }
  return rest;
}

bool in_step(const Environment& environment) {
  // A batch script has a procid and no step of its own.
  return find(environment, "SLURM_STEP_NODELIST") && find(environment, "SLURM_PROCID");
}

}  // namespace lockstep::spank
