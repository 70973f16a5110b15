#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "step/step.h"

using namespace lockstep::spank;

namespace {

// Variables apart by blanks, as "A=1 B=2".
Environment recorded(const std::string& text) {
  Environment environment;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const auto equals = word.find('=');
    environment[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return environment;
}

Step step_of(const std::string& text) {
  return read_step(recorded(text), {});
}

// What the tasks of a step have seen on a Slurm 22.05 cluster of four nodes: variables of all, then of each
// task.
struct Recorded {
  std::string name;
  std::string common;
  std::vector<std::string> tasks;
  std::string node_of_rank0;
};

std::string task(int rank, int node_id, int local, const std::string& ranks, const std::string& node) {
  return fmt::format(" SLURM_PROCID={} SLURM_NODEID={} SLURM_LOCALID={} SLURM_GTIDS={} SLURMD_NODENAME={}",
                     rank, node_id, local, ranks, node);
}

const std::vector<Recorded>& recorded_steps() {
  static const std::vector<Recorded> steps = {
      {"block, 3 tasks on 2 nodes",
       "SLURM_JOB_ID=1 SLURM_STEP_ID=0 SLURM_STEP_NODELIST=n[1-2] SLURM_NODELIST=n[1-2] "
       "SLURM_STEP_NUM_NODES=2 "
       "SLURM_STEP_NUM_TASKS=3 SLURM_NTASKS=3 SLURM_STEP_TASKS_PER_NODE=2,1 "
       "SLURM_STEP_RESV_PORTS=20029-20031 "
       "SLURM_MPI_TYPE=pmix SLURM_PMIX_MAPPING_SERV=(vector,(0,1,2),(1,1,1))",
       {task(0, 0, 0, "0,1", "n1"), task(1, 0, 1, "0,1", "n1"), task(2, 1, 0, "2", "n2")},
       "n1"},
      {"plane, 5 tasks on 4 nodes, without PMIx",
       "SLURM_STEP_NODELIST=n[1-4] SLURM_STEP_NUM_NODES=4 SLURM_STEP_NUM_TASKS=5 SLURM_DISTRIBUTION=plane "
       "SLURM_STEP_TASKS_PER_NODE=2,1(x3) SLURM_STEP_RESV_PORTS=20093-20095",
       {task(0, 0, 0, "0,1", "n1"), task(1, 0, 1, "0,1", "n1"), task(2, 1, 0, "2", "n2"),
        task(3, 2, 0, "3", "n3"), task(4, 3, 0, "4", "n4")},
       "n1"},
      {"cyclic",
       "SLURM_STEP_NODELIST=n[1-2] SLURM_STEP_NUM_NODES=2 SLURM_STEP_NUM_TASKS=4 "
       "SLURM_STEP_TASKS_PER_NODE=3,1 "
       "SLURM_DISTRIBUTION=cyclic",
       {task(0, 0, 0, "0,2,3", "n1"), task(1, 1, 0, "1", "n2"), task(2, 0, 1, "0,2,3", "n1"),
        task(3, 0, 2, "0,2,3", "n1")},
       "n1"},
      {"arbitrary by -w n3,n1,n2 with PMIx",
       "SLURM_STEP_NODELIST=n[1-3] SLURM_STEP_NUM_NODES=3 SLURM_STEP_NUM_TASKS=3 "
       "SLURM_STEP_TASKS_PER_NODE=1(x3) "
       "SLURM_DISTRIBUTION=arbitrary SLURM_MPI_TYPE=pmix SLURM_PMIX_MAPPING_SERV=(vector,(2,1,1),(0,2,1))",
       {task(0, 2, 0, "0", "n3"), task(1, 0, 0, "1", "n1"), task(2, 1, 0, "2", "n2")},
       "n3"},
      {"arbitrary by -w n3,n1,n3 without PMIx: of two nodes it is the other one",
       "SLURM_STEP_NODELIST=n[1,3] SLURM_STEP_NUM_NODES=2 SLURM_STEP_NUM_TASKS=3 "
       "SLURM_STEP_TASKS_PER_NODE=1,2 "
       "SLURM_DISTRIBUTION=arbitrary",
       {task(0, 1, 0, "0,2", "n3"), task(1, 0, 0, "1", "n1"), task(2, 1, 1, "0,2", "n3")},
       "n3"},
      {"an arbitrary step without PMIx below a block step with PMIx, whose layout it has inherited",
       "SLURM_STEP_NODELIST=n[1-2] SLURM_STEP_NUM_NODES=2 SLURM_STEP_NUM_TASKS=2 "
       "SLURM_STEP_TASKS_PER_NODE=1(x2) "
       "SLURM_DISTRIBUTION=arbitrary SLURM_PMIX_MAPPING_SERV=(vector,(0,2,1))",
       {task(0, 1, 0, "0", "n2"), task(1, 0, 0, "1", "n1")},
       "n2"},
      {"a step with -r 1 in a batch job: the job's list begins elsewhere",
       "SLURM_NODELIST=n[1-3] SLURM_JOB_NODELIST=n[1-3] SLURM_STEP_NODELIST=n[2-3] SLURM_STEP_NUM_NODES=2 "
       "SLURM_STEP_NUM_TASKS=3 SLURM_STEP_TASKS_PER_NODE=2,1 SLURM_DISTRIBUTION=block",
       {task(0, 0, 0, "0,1", "n2"), task(1, 0, 1, "0,1", "n2"), task(2, 1, 0, "2", "n3")},
       "n2"},
      {"srun --het-group=0,1 with the first component on the last node",
       "SLURM_HET_SIZE=2 SLURM_JOB_NODELIST_PACK_GROUP_0=n3 SLURM_JOB_NODELIST_PACK_GROUP_1=n[1,4] "
       "SLURM_STEP_NODELIST=n[1,3-4] SLURM_STEP_NUM_NODES=3 SLURM_STEP_NUM_TASKS=4 "
       "SLURM_STEP_TASKS_PER_NODE=1,2,1 "
       "SLURM_STEP_RESV_PORTS=20113-20117 SLURM_DISTRIBUTION=block",
       {task(0, 0, 0, "0,1", "n3"), task(1, 0, 1, "0,1", "n3"), task(2, 1, 0, "2", "n1"),
        task(3, 2, 0, "3", "n4")},
       "n3"},
      {"srun --het-group=1 of a heterogeneous batch job",
       "SLURM_HET_SIZE=2 SLURM_JOB_NODELIST_HET_GROUP_0=n1 SLURM_JOB_NODELIST_HET_GROUP_1=n[2-4] "
       "SLURM_STEP_NODELIST=n[2-4] SLURM_STEP_NUM_NODES=3 SLURM_STEP_NUM_TASKS=3 "
       "SLURM_STEP_TASKS_PER_NODE=1(x3)",
       {task(0, 0, 0, "0", "n2"), task(1, 1, 0, "1", "n3"), task(2, 2, 0, "2", "n4")},
       "n2"},
      {"srun -w n3 A : -w n1,n2 B in one allocation with PMIx",
       "SLURM_STEP_NODELIST=n[1-3] SLURM_STEP_NUM_NODES=3 SLURM_STEP_NUM_TASKS=4 "
       "SLURM_STEP_TASKS_PER_NODE=1(x2),2 "
       "SLURM_MPI_TYPE=pmix SLURM_PMIX_MAPPING_SERV=(vector,(2,1,2),(0,2,1))",
       {task(0, 0, 0, "0,1", "n3"), task(1, 0, 1, "0,1", "n3"), task(2, 1, 0, "2", "n1"),
        task(3, 2, 0, "3", "n2")},
       "n3"},
      {"all tasks on one node",
       "SLURM_STEP_NODELIST=n2 SLURM_STEP_NUM_NODES=1 SLURM_STEP_NUM_TASKS=2 SLURM_STEP_TASKS_PER_NODE=2",
       {task(0, 0, 0, "0,1", "n2"), task(1, 0, 1, "0,1", "n2")},
       "n2"},
  };
  return steps;
}

}  // namespace

TEST_CASE("every task of the recorded steps finds the node of rank 0", "[step]") {
  for (const Recorded& step : recorded_steps()) {
    for (const std::string& own : step.tasks) {
      INFO(step.name << own);
      const Step found = step_of(step.common + own);
      CHECK(found.rank0_node == step.node_of_rank0);
      CHECK_FALSE(found.rank0_note.empty());
    }
  }
}

TEST_CASE("a task knows its place in the step", "[step]") {
  const Step step = step_of(
      "SLURM_JOB_ID=15 SLURM_STEP_ID=6 SLURM_RESTART_COUNT=2 SLURM_NTASKS=6 SLURM_STEP_NUM_TASKS=3 "
      "SLURM_NNODES=3 "
      "SLURM_STEP_NUM_NODES=2 SLURM_STEP_NODELIST=n[2-3] SLURM_STEP_TASKS_PER_NODE=2,1 "
      "SLURM_STEP_RESV_PORTS=20028-20029,20127 SLURM_TOPOLOGY_ADDR=root.s0.n2 "
      "SLURM_TOPOLOGY_ADDR_PATTERN=switch.switch.node SLURM_GPUS_ON_NODE=4 CUDA_VISIBLE_DEVICES=1,3 "
      "SLURM_RLIMIT_MEMLOCK=65536" +
      task(1, 0, 1, "0,1", "n2"));
  CHECK(step.job == "15");
  CHECK(step.step == "6");
  CHECK(step.restart == 2);
  CHECK(step.rank == 1);
  CHECK(step.ranks == 3);
  CHECK(step.local_rank == 1);
  CHECK(step.local_ranks == 2);
  CHECK(step.node_index == 0);
  CHECK(step.nodes == 2);
  CHECK_FALSE(step.even);
  CHECK(step.node == "n2");
  CHECK(step.rank0_node == "n2");
  CHECK(step.reserved_ports == std::vector<int>{20028, 20029, 20127});
  CHECK_FALSE(step.heterogeneous);
  CHECK(step.topology_address == "root.s0.n2");
  CHECK(step.topology_pattern == "switch.switch.node");
  CHECK(step.gpus_on_node == 4);
  CHECK(step.visible_gpus == 2);
  CHECK(step.memlock == 65536);
}

TEST_CASE("tasks per node are even only where all nodes have as many", "[step]") {
  const std::string common = "SLURM_STEP_NUM_NODES=3 SLURM_STEP_NUM_TASKS=6 ";
  CHECK(step_of(common + "SLURM_STEP_TASKS_PER_NODE=2(x3)").even);
  CHECK(step_of(common + "SLURM_STEP_TASKS_PER_NODE=2,2,2").even);
  CHECK_FALSE(step_of(common + "SLURM_STEP_TASKS_PER_NODE=1,4,1").even);
  CHECK_FALSE(step_of(common + "SLURM_STEP_TASKS_PER_NODE=1(x2),4").even);
  CHECK(step_of(common).even);
  CHECK_FALSE(step_of("SLURM_STEP_NUM_NODES=4 SLURM_STEP_NUM_TASKS=6").even);
}

TEST_CASE("a step of several components is heterogeneous on each of its nodes", "[step]") {
  for (const Recorded& step : recorded_steps()) {
    const bool expected =
        step.name.find("--het-group=0,1") != std::string::npos || step.name.find(" : ") != std::string::npos;
    for (const std::string& own : step.tasks) {
      INFO(step.name << own);
      CHECK(step_of(step.common + own).heterogeneous == expected);
    }
  }
}

TEST_CASE("where no variable tells the node of rank 0, none is named and the note says why", "[step]") {
  const std::string three =
      "SLURM_STEP_NODELIST=n[1-3] SLURM_STEP_NUM_NODES=3 SLURM_STEP_NUM_TASKS=3 "
      "SLURM_STEP_TASKS_PER_NODE=1(x3) ";
  const Step arbitrary = step_of(three + "SLURM_DISTRIBUTION=arbitrary" + task(1, 0, 0, "1", "n1"));
  CHECK(arbitrary.rank0_node.empty());
  CHECK(arbitrary.rank0_note ==
        "the distribution is arbitrary, and the order of its hosts is in no variable");

  const Step components =
      step_of(three + task(1, 1, 0, "1", "n1"));  // n1 is the first of the list, but not number 0
  CHECK(components.rank0_node.empty());
  CHECK(components.heterogeneous);

  // The layout of an outer step with PMIx, which happens to put this rank on this node too.
  const Step stale = step_of(three + "SLURM_DISTRIBUTION=arbitrary SLURM_PMIX_MAPPING_SERV=(vector,(0,3,1))" +
                             task(1, 1, 0, "1", "n2"));
  CHECK(stale.rank0_node.empty());

  const Step wrong_layout = step_of(three +
                                    "SLURM_DISTRIBUTION=arbitrary SLURM_MPI_TYPE=pmix "
                                    "SLURM_PMIX_MAPPING_SERV=(vector,(0,3,1))" +
                                    task(1, 0, 0, "1", "n1"));
  CHECK(wrong_layout.rank0_node.empty());

  CHECK(step_of("SLURM_PROCID=1").rank0_note == "SLURM_STEP_NODELIST is not set");
  CHECK(step_of("SLURM_PROCID=1 SLURM_STEP_NODELIST=n[1").rank0_note ==
        "host list, character 2: '[' without ']'");
}

TEST_CASE("without the ranks of this node, two nodes are not told apart by exclusion", "[step]") {
  const Step step = step_of(
      "SLURM_STEP_NODELIST=n[1,3] SLURM_STEP_NUM_NODES=2 SLURM_STEP_NUM_TASKS=3 "
      "SLURM_STEP_TASKS_PER_NODE=1,2 SLURM_DISTRIBUTION=arbitrary SLURM_PROCID=2 SLURM_NODEID=1 "
      "SLURM_LOCALID=1 SLURMD_NODENAME=n3");
  CHECK(step.rank0_node.empty());
}

TEST_CASE("GPUs, limits and counts that are no such thing are not known", "[step]") {
  CHECK(step_of("CUDA_VISIBLE_DEVICES=").visible_gpus == 0);
  CHECK(step_of("CUDA_VISIBLE_DEVICES=NoDevFiles").visible_gpus == 0);
  CHECK(step_of("CUDA_VISIBLE_DEVICES=0,-1,2").visible_gpus == 1);
  CHECK(step_of("CUDA_VISIBLE_DEVICES=GPU-5ebe,MIG-77").visible_gpus == 2);
  CHECK_FALSE(step_of("X=1").visible_gpus);
  CHECK_FALSE(step_of("X=1").gpus_on_node);
  CHECK_FALSE(step_of("SLURM_GPUS_ON_NODE=many").gpus_on_node);
  CHECK(step_of("SLURM_RLIMIT_MEMLOCK=U65536").memlock == 65536);
  CHECK(step_of("SLURM_RLIMIT_MEMLOCK=U65536").memlock_asked_for);
  CHECK_FALSE(step_of("SLURM_RLIMIT_MEMLOCK=65536").memlock_asked_for);
  CHECK(step_of("SLURM_RLIMIT_MEMLOCK=18446744073709551615").memlock == UINT64_MAX);
  CHECK_FALSE(step_of("SLURM_RLIMIT_MEMLOCK=unlimited").memlock);
  CHECK_FALSE(step_of("SLURM_RLIMIT_MEMLOCK=").memlock);
  CHECK(step_of("SLURM_STEP_RESV_PORTS=20028-").reserved_ports.empty());
}

TEST_CASE("nonsense in the environment gives a step of one task", "[step]") {
  const Step step = step_of(
      "SLURM_PROCID=-1 SLURM_NTASKS=0 SLURM_LOCALID=x SLURM_NODEID=99999999999999999999 "
      "SLURM_NNODES=0 SLURM_STEP_TASKS_PER_NODE=1(x SLURM_GTIDS=a SLURM_RESTART_COUNT=-3");
  CHECK(step.rank == 0);
  CHECK(step.ranks == 1);
  CHECK(step.local_rank == 0);
  CHECK(step.local_ranks == 1);
  CHECK(step.nodes == 1);
  CHECK(step.restart == 0);
  CHECK(step.even);
}
