// Whether the step's tasks see their GPUs in a way that NCCL can use.
#include <fmt/format.h>

#include "plan/concern.h"

namespace lockstep::spank {

namespace {

// For a program that would pick its device by local rank: it has only device 0.
constexpr const char* isolated_variable = "LOCKSTEP_GPUS_ISOLATED";

// What the step may use here: nothing where Slurm has hidden all from it.
int gpus_on_node(const Facts& facts) {
  if (facts.step.visible_gpus == 0) return 0;
  return facts.step.gpus_on_node.value_or(static_cast<int>(facts.machine.gpus().size()));
}

}  // namespace

void look_at_gpus(const Facts& facts, Settings& settings) {
  if (!facts.machine.complete) return;
  const Step& step = facts.step;
  const int gpus = gpus_on_node(facts);
  if (gpus == 0) return;
  if (step.local_ranks > 1 && gpus > 1 && step.visible_gpus == 1) {
    settings.propose(isolated_variable, "1", "each task sees one GPU only, as device 0");
    settings.advise(
        "each task sees one GPU only, as device 0 whatever LOCAL_RANK is: NCCL may find no direct path "
        "(NVLink, P2P) between them",
        fmt::format("ask for --ntasks-per-node={} --gres=gpu:{} --gpu-bind=none instead of "
                    "--gpus-per-task or --gpu-bind=single, and let the program choose by "
                    "SLURM_LOCALID",
                    step.local_ranks, gpus));
  }
  // One task per node is how launchers such as torchrun start: no word about them.
  if (step.local_ranks > 1 && step.local_ranks != gpus) {
    settings.advise(fmt::format("{} tasks on a node with {} GPUs", step.local_ranks, gpus),
                    fmt::format("ask for --ntasks-per-node={}", gpus));
  }
  // A fact about the step: one line, not one for each node.
  if (!step.even && step.rank == 0) {
    settings.advise("the nodes have unequal numbers of tasks: NCCL's rings and trees become lopsided",
                    fmt::format("ask for --ntasks-per-node={}", gpus));
  }
}

}  // namespace lockstep::spank
