#include "slurm/allocation.h"

#include <unistd.h>

#include <cstdlib>

#include "core/text.h"

namespace lockstep::slurm {

namespace {

std::optional<std::int64_t> number(const Environment& environment, const char* name) {
  const char* text = environment(name);
  return text == nullptr ? std::nullopt : parse_int(text);
}

std::string host_name() {
  char name[256] = "";
  if (::gethostname(name, sizeof name - 1) != 0) return "unknown";
  return name;
}

}  // namespace

Environment process_environment() {
  return [](const char* name) { return std::getenv(name); };
}

Allocation read_allocation(const Environment& environment) {
  Allocation allocation;
  if (const char* job = environment("SLURM_JOB_ID")) allocation.job_id = job;
  if (const char* cluster = environment("SLURM_CLUSTER_NAME")) allocation.cluster = cluster;
  allocation.restart_count = static_cast<int>(number(environment, "SLURM_RESTART_COUNT").value_or(0));
  const char* node = environment("SLURMD_NODENAME");
  allocation.node = node != nullptr ? node : host_name();
  allocation.cpus_per_task = static_cast<int>(number(environment, "SLURM_CPUS_PER_TASK").value_or(0));
  allocation.end_time = number(environment, "SLURM_JOB_END_TIME");
  if (const char* topology = environment("LOCKSTEP_TOPOLOGY")) allocation.topology = topology;
  if (const char* digest = environment("LOCKSTEP_NCCL_DIGEST")) allocation.nccl_digest = digest;
  // mpirun inside a Slurm job: its own variable is the rank, SLURM_PROCID belongs to the launching step.
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"}) {
    if (const auto rank = number(environment, name)) {
      allocation.rank_hint = static_cast<int>(*rank);
      break;
    }
  }
  return allocation;
}

}  // namespace lockstep::slurm
