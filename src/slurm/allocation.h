// The job as seen from inside, from the environment that Slurm (or mpirun) gives a process. Nothing here
// talks to Slurm; see queries.h for that.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace lockstep::slurm {

// Returns the value of an environment variable, or null. Tests pass recorded environments.
using Environment = std::function<const char*(const char*)>;

Environment process_environment();

struct Allocation {
  std::string job_id;                    // SLURM_JOB_ID; empty outside a job
  std::string cluster;                   // SLURM_CLUSTER_NAME
  int restart_count = 0;                 // SLURM_RESTART_COUNT: how often this job was requeued
  std::string node;                      // SLURMD_NODENAME, else the host name
  int rank_hint = 0;                     // the rank that the launcher says we have, before MPI is up
  int cpus_per_task = 0;                 // SLURM_CPUS_PER_TASK; 0 where it is not set
  std::optional<std::int64_t> end_time;  // SLURM_JOB_END_TIME (seconds since 1970); Slurm 22.05 has none
  // From the SPANK plugin; empty without it.
  std::string topology;  // LOCKSTEP_TOPOLOGY: the switches or blocks above the node, "root/s0"
  std::string
      nccl_digest;  // LOCKSTEP_NCCL_DIGEST: what must be equal on every rank, "v1 plugin=HEX config=HEX ..."
  bool in_job() const { return !job_id.empty(); }
};

Allocation read_allocation(const Environment& environment);

}  // namespace lockstep::slurm
