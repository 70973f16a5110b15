// What a task knows about its step, from the environment that Slurm gives it and from its node's step daemon.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "step/environment.h"

namespace lockstep::spank {

struct Step {
  std::string job;   // SLURM_JOB_ID: of a heterogeneous job, its leader's
  std::string step;  // SLURM_STEP_ID
  int restart = 0;   // SLURM_RESTART_COUNT
  int rank = 0;      // SLURM_PROCID
  int ranks = 1;     // SLURM_NTASKS of the step
  int local_rank = 0;
  int local_ranks = 1;  // tasks of the step on this node
  int node_index = 0;   // SLURM_NODEID
  int nodes = 1;        // SLURM_STEP_NUM_NODES
  bool even = true;     // every node has as many tasks
  std::string node;     // SLURMD_NODENAME

  // The node of rank 0; empty where it cannot be known, and `rank0_note` says why.
  std::string rank0_node;
  std::string rank0_note;  // where it comes from, in words

  std::vector<int> reserved_ports;  // SLURM_STEP_RESV_PORTS, of use for all ranks; else empty
  bool heterogeneous = false;       // the step runs in several components of a heterogeneous job

  std::string topology_address;  // SLURM_TOPOLOGY_ADDR, as "root.s0.n1"
  std::string topology_pattern;  // SLURM_TOPOLOGY_ADDR_PATTERN, as "switch.switch.node"

  std::optional<int> gpus_on_node;       // SLURM_GPUS_ON_NODE: what the job holds here
  std::optional<int> visible_gpus;       // entries of CUDA_VISIBLE_DEVICES
  std::optional<std::uint64_t> memlock;  // SLURM_RLIMIT_MEMLOCK in bytes, UINT64_MAX for no limit
  bool memlock_asked_for = false;        // by --propagate, and not just carried along
  std::vector<std::string> command;      // program and arguments
};

// `command` is the task's program with its arguments. Reads one file: the host file of an arbitrary
// distribution (SLURM_HOSTFILE), as the calling user, at most its first 64 KiB, and only if it is a plain
// file.
Step read_step(const Environment& environment, std::vector<std::string> command);

}  // namespace lockstep::spank
