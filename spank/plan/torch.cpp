// PyTorch's init_method="env://": RANK and the like for programs, PET_* for torchrun, which makes ranks of
// its own.
#include <fmt/format.h>

#include <algorithm>

#include "plan/concern.h"
#include "plan/launcher.h"

namespace lockstep::spank {

namespace {

bool is_one_task_per_node(const Step& step) {
  return step.ranks == step.nodes && step.even && step.local_ranks == 1;
}

void set_ranks(const Step& step, Settings& settings) {
  settings.propose("RANK", std::to_string(step.rank), "rank of the task in the step (SLURM_PROCID)");
  settings.propose("WORLD_SIZE", std::to_string(step.ranks), "tasks of the step");
  settings.propose("LOCAL_RANK", std::to_string(step.local_rank),
                   "rank of the task on its node (SLURM_LOCALID)");
  settings.propose("LOCAL_WORLD_SIZE", std::to_string(step.local_ranks), "tasks of the step on this node");
  settings.propose("NODE_RANK", std::to_string(step.node_index),
                   "number of the node in the step (SLURM_NODEID)");
}

// A copy: the next proposal may move the decision.
std::optional<std::string> value_of(const Settings& settings, std::string_view variable) {
  const Decision* decision = settings.find(variable);
  return decision == nullptr ? std::nullopt : decision->value;
}

// torchrun takes these for options that it is not given. The store is on the node with rank 0, so that the
// task's rank, not the node's number, is the node rank. On a single node torchrun finds itself; what it lacks
// there is a port that no other torchrun has.
void set_torchrun_options(const Step& step, Settings& settings) {
  const auto address = value_of(settings, "MASTER_ADDR");
  const auto port = value_of(settings, "MASTER_PORT");
  if (!port) return;
  settings.propose("PET_MASTER_PORT", *port, "as MASTER_PORT, for torchrun");
  if (step.nodes == 1 || !address) return;
  settings.propose("PET_MASTER_ADDR", *address, "as MASTER_ADDR, for torchrun");
  settings.propose("PET_NNODES", std::to_string(step.nodes), "nodes of the step, for torchrun");
  settings.propose("PET_NODE_RANK", std::to_string(step.rank),
                   "rank of the step's task on this node, for torchrun");
}

// --standalone asks for a group on each node alone, whatever else is set.
bool is_standalone(const Step& step) {
  return std::find(step.command.begin(), step.command.end(), "--standalone") != step.command.end();
}

void set_for_torchrun(const Step& step, Settings& settings) {
  if (is_standalone(step)) return;
  if (is_one_task_per_node(step)) {
    set_torchrun_options(step, settings);
  } else {
    if (step.rank != 0) return;
    settings.advise(fmt::format("torchrun is started {} times on {} node{}: each start is a group of its own",
                                step.ranks, step.nodes, step.nodes == 1 ? "" : "s"),
                    "start one task per node (--ntasks-per-node=1) and give torchrun --nproc_per_node");
  }
}

}  // namespace

void set_torch(const Facts& facts, Settings& settings) {
  const Step& step = facts.step;
  if (facts.torch == TorchMode::off) return;
  const Launcher launcher = launcher_of(step.command);
  if (launcher == Launcher::torchrun) {
    set_for_torchrun(step, settings);
    return;
  }
  if (facts.torch == TorchMode::automatic && launcher == Launcher::other) return;
  if (facts.torch == TorchMode::automatic && step.ranks == 1) {
    settings.leave_unset("RANK", "one task only: --nccl-torch=on sets PyTorch's ranks all the same");
    return;
  }
  set_ranks(step, settings);
  // What a shell will start is not known, and torchrun pays no heed to RANK.
  if (launcher == Launcher::shell && step.nodes > 1 && is_one_task_per_node(step)) {
    set_torchrun_options(step, settings);
  }
}

}  // namespace lockstep::spank
