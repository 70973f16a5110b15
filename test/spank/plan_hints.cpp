// Limits and the view of GPUs: one line each, and silence where nothing is wrong.
#include <catch2/catch.hpp>
#include <limits>

#include "plan/concern.h"

using namespace lockstep::spank;

namespace {

struct Node {
  Step step;
  Machine machine;
  Profile profile;
  UserOptions options;
  Environment environment;

  Plan plan_of(Concern concern) const {
    Settings settings({options, environment, nullptr, profile, nullptr});
    concern({step, machine, profile, nullptr, nullptr, TorchMode::automatic, {}, {}}, settings);
    return std::move(settings).take();
  }
  void add_gpus(int count) {
    for (int i = 0; i < count; ++i) {
      PciDevice gpu;
      gpu.vendor = "0x10de";
      gpu.device_class = "0x030200";
      machine.devices.push_back(gpu);
    }
  }
};

std::string findings(const Plan& plan) {
  std::string text;
  for (const Finding& finding : plan.findings) text += finding.text + "|" + finding.remedy + "\n";
  return text;
}

constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

}  // namespace

TEST_CASE("a propagated limit on locked memory is lifted to slurmd's own", "[plan]") {
  Node node;
  node.step.memlock = 64 << 10;
  node.machine.memlock_bytes = 8 << 20;
  const Plan plan = node.plan_of(set_limits);
  REQUIRE(plan.decisions.size() == 1);
  CHECK(plan.decisions[0].variable == "SLURM_RLIMIT_MEMLOCK");
  CHECK_FALSE(plan.decisions[0].value);
  CHECK(plan.decisions[0].reason ==
        "the limit on locked memory that came with the job (64.0 KiB) is below slurmd's (8.0 MiB)");
  CHECK(plan.findings.empty());

  node.step.memlock = no_limit;
  CHECK(node.plan_of(set_limits).decisions.empty());
  node.step.memlock = 8 << 20;
  CHECK(node.plan_of(set_limits).decisions.empty());
  node.step.memlock.reset();
  CHECK(node.plan_of(set_limits).decisions.empty());
  node.step.memlock = 64 << 10;
  node.machine.memlock_bytes = 0;  // not known
  CHECK(node.plan_of(set_limits).decisions.empty());
}

TEST_CASE("a limit that --propagate carries is the user's word", "[plan]") {
  Node node;
  node.step.memlock = 64 << 10;
  node.step.memlock_asked_for = true;
  node.machine.memlock_bytes = no_limit;
  CHECK(node.plan_of(set_limits).decisions.empty());
  CHECK(node.plan_of(set_limits).findings.empty());
  node.machine.hcas.emplace_back();
  CHECK(node.plan_of(set_limits).decisions.empty());
  CHECK(findings(node.plan_of(set_limits)) ==
        "--propagate carries a limit on locked memory of 64.0 KiB: RDMA registers more|leave MEMLOCK out of "
        "--propagate, or raise `ulimit -l` first\n");
}

TEST_CASE("slurmd's own low limit is a problem only where RDMA needs it", "[plan]") {
  Node node;
  node.machine.memlock_bytes = 8 << 20;
  CHECK(node.plan_of(set_limits).findings.empty());
  node.machine.hcas.emplace_back();
  CHECK(findings(node.plan_of(set_limits)) ==
        "slurmd's limit on locked memory is 8.0 MiB: RDMA registers more|set LimitMEMLOCK=infinity in "
        "slurmd's unit "
        "file and restart slurmd\n");
  node.machine.memlock_bytes = no_limit;
  CHECK(node.plan_of(set_limits).findings.empty());
}

TEST_CASE("a /dev/shm below 1 GiB per GPU is told where tasks share it", "[plan]") {
  Node node;
  node.add_gpus(4);
  node.step.local_ranks = 4;
  node.machine.shm_bytes = 64 << 20;
  CHECK(findings(node.plan_of(set_limits)).starts_with("/dev/shm holds 64.0 MiB for 4 GPUs"));
  node.machine.shm_bytes = std::uint64_t{4} << 30;
  CHECK(node.plan_of(set_limits).findings.empty());
  node.machine.shm_bytes = 64 << 20;
  node.step.local_ranks = 1;
  CHECK(node.plan_of(set_limits).findings.empty());
}

TEST_CASE("one visible GPU per task is told with the options that mend it", "[plan]") {
  Node node;
  node.step.ranks = node.step.local_ranks = 4;
  node.step.gpus_on_node = 4;
  node.step.visible_gpus = 1;
  const Plan plan = node.plan_of(look_at_gpus);
  CHECK(findings(plan) ==
        "each task sees one GPU only, as device 0 whatever LOCAL_RANK is: NCCL may find no direct path "
        "(NVLink, P2P) between them|ask for "
        "--ntasks-per-node=4 --gres=gpu:4 --gpu-bind=none instead of --gpus-per-task or --gpu-bind=single, "
        "and let "
        "the program choose by SLURM_LOCALID\n");
  REQUIRE(plan.find("LOCKSTEP_GPUS_ISOLATED") != nullptr);
  node.step.visible_gpus = 4;
  CHECK(node.plan_of(look_at_gpus).findings.empty());
  CHECK(node.plan_of(look_at_gpus).decisions.empty());
}

TEST_CASE("tasks unlike GPUs are told, a launcher's single task is not", "[plan]") {
  Node node;
  node.step.gpus_on_node = 8;
  node.step.ranks = node.step.local_ranks = 4;
  node.step.visible_gpus = 8;
  CHECK(findings(node.plan_of(look_at_gpus)) ==
        "4 tasks on a node with 8 GPUs|ask for --ntasks-per-node=8\n");
  node.step.local_ranks = 1;
  CHECK(node.plan_of(look_at_gpus).findings.empty());
  node.step.gpus_on_node = 0;
  node.step.local_ranks = 4;
  CHECK(node.plan_of(look_at_gpus).findings.empty());
}

TEST_CASE("a step from which Slurm hides the GPUs hears nothing of them", "[plan]") {
  Node node;
  node.add_gpus(8);
  node.step.ranks = node.step.local_ranks = 2;
  node.step.visible_gpus = 0;
  CHECK(node.plan_of(look_at_gpus).findings.empty());
}

TEST_CASE("uneven nodes are told by rank 0 alone", "[plan]") {
  Node node;
  node.step.gpus_on_node = 2;
  node.step.ranks = 3;
  node.step.local_ranks = 2;
  node.step.visible_gpus = 2;
  node.step.even = false;
  CHECK(findings(node.plan_of(look_at_gpus)).starts_with("the nodes have unequal numbers of tasks"));
  node.step.rank = 2;
  CHECK(node.plan_of(look_at_gpus).findings.empty());
}
