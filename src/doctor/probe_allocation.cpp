// What the job has been given: ranks, nodes, cores, memory, time.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "core/clock.h"
#include "core/text.h"
#include "doctor/machine.h"
#include "doctor/probes.h"
#include "slurm/queries.h"

namespace lockstep::doctor {

namespace {

void look(Context& context, Facts& mine) {
  mine["machine"] = machine_id();
  mine["cores"] = to_list(own_cores());
  mine["machine_cores"] = first_line("/sys/devices/system/cpu/online");
  mine["threads"] = fmt::format("{}", context.threads);
  const Memory memory = machine_memory();
  mine["memory"] = fmt::format("{}", memory.total);
  mine["memory_available"] = fmt::format("{}", memory.available);
  if (const auto limit = memory_limit()) mine["memory_limit"] = fmt::format("{}", *limit);
  const auto found = gpus();
  mine["gpus"] = fmt::format("{}", found.size());
  if (!found.empty()) mine["gpu_list"] = fmt::format("{}", fmt::join(found, "; "));
  if (context.rank() != 0 || !context.allocation.in_job()) return;
  mine["job"] = context.allocation.job_id;
  mine["restart"] = fmt::format("{}", context.allocation.restart_count);
  const auto end = context.allocation.end_time ? context.allocation.end_time
                                               : slurm::job_end_time(context.allocation.job_id);
  if (end) mine["seconds_left"] = fmt::format("{:.0f}", static_cast<double>(*end) - wall_seconds());
}

std::map<std::string, std::vector<const RankFacts*>> by_node(const std::vector<RankFacts>& ranks) {
  std::map<std::string, std::vector<const RankFacts*>> nodes;
  for (const RankFacts& rank : ranks) nodes[rank.node].push_back(&rank);
  return nodes;
}

void report_nodes(Section& section) {
  const auto nodes = by_node(section.ranks);
  std::vector<std::string> words;
  constexpr std::size_t told = 8;
  for (const auto& [node, ranks] : nodes) {
    if (words.size() < told) words.push_back(fmt::format("{} x {}", node, ranks.size()));
  }
  if (nodes.size() > told) words.push_back(fmt::format("and {} more", nodes.size() - told));
  section.rows.push_back({"ranks", fmt::format("{} on {} node{} ({})", section.ranks.size(), nodes.size(),
                                               nodes.size() == 1 ? "" : "s", fmt::join(words, ", "))});
  std::size_t least = section.ranks.size(), most = 0;
  for (const auto& [node, ranks] : nodes) {
    least = std::min(least, ranks.size());
    most = std::max(most, ranks.size());
  }
  if (least != most) {
    section.warnings.push_back(
        fmt::format("nodes have {} to {} ranks: the full ones set the pace; use "
                    "--ntasks-per-node",
                    least, most));
  }
}

// Ranks of one machine whose cores are the same must at least have enough of them for all their threads.
void report_cores(Section& section) {
  std::set<std::string> words;
  std::map<std::string, std::vector<const RankFacts*>> machines;
  for (const RankFacts& rank : section.ranks) {
    machines[text_of(rank.facts, "machine")].push_back(&rank);
    const auto cores = from_list(text_of(rank.facts, "cores"));
    const bool all = cores == from_list(text_of(rank.facts, "machine_cores"));
    words.insert(fmt::format("{} core{} per rank{}, {} thread{}", cores.size(), cores.size() == 1 ? "" : "s",
                             all ? " (not bound)" : "", text_of(rank.facts, "threads"),
                             text_of(rank.facts, "threads") == "1" ? "" : "s"));
  }
  section.rows.push_back({"cores", fmt::format("{}", fmt::join(words, "; "))});
  constexpr std::size_t told = 4;
  std::size_t crowded = 0;
  for (const auto& [machine, ranks] : machines) {
    for (const RankFacts* rank : ranks) {
      const auto cores = from_list(text_of(rank->facts, "cores"));
      double threads = 0;
      std::vector<int> sharers;
      std::set<int> together;
      for (const RankFacts* other : ranks) {
        const auto theirs = from_list(text_of(other->facts, "cores"));
        const bool meet =
            std::any_of(theirs.begin(), theirs.end(), [&](int c) { return cores.count(c) > 0; });
        if (!meet) continue;
        sharers.push_back(other->rank);
        threads += number_of(other->facts, "threads").value_or(1);
        together.insert(theirs.begin(), theirs.end());
      }
      // Told once, by the first of those that share.
      if (cores.empty() || sharers.front() != rank->rank || threads <= static_cast<double>(together.size()))
        continue;
      if (crowded++ >= told) continue;
      section.warnings.push_back(
          sharers.size() == 1
              ? fmt::format("{} has {:.0f} threads on core{} {}: ask for more (--cpus-per-task), or set "
                            "train.threads",
                            name_of(*rank), threads, together.size() == 1 ? "" : "s", to_list(together))
              : fmt::format(
                    "ranks {} on {} share core{} {} for {:.0f} threads: use fewer ranks per node, or bind "
                    "each to its own (srun --cpu-bind=cores, mpirun --bind-to core)",
                    fmt::join(sharers, ", "), rank->node, together.size() == 1 ? "" : "s", to_list(together),
                    threads));
    }
  }
}

void report(const Findings&, Section& section) {
  const Facts& first = section.ranks.front().facts;
  const std::string job = text_of(first, "job");
  section.rows.push_back({"job", job.empty()
                                     ? "none: not in a Slurm job"
                                     : fmt::format("{}, restart {}", job, text_of(first, "restart"))});
  report_nodes(section);
  report_cores(section);
  const Spread memory = spread(section.ranks, "memory", Better::higher);
  const Spread limit = spread(section.ranks, "memory_limit", Better::higher);
  section.rows.push_back(
      {"memory", fmt::format("{} per node at least{}", human_bytes(memory.worst),
                             limit.count == 0 ? ", no limit"
                                              : fmt::format(", limited to {}", human_bytes(limit.worst)))});
  const Spread gpus = spread(section.ranks, "gpus", Better::higher);
  section.rows.push_back({"GPUs", gpus.sum == 0
                                      ? "none seen"
                                      : fmt::format("{:.0f} to {:.0f} seen by a rank; rank 0: {}", gpus.worst,
                                                    gpus.typical, text_of(first, "gpu_list"))});
  if (const auto left = number_of(first, "seconds_left")) {
    section.rows.push_back({"time left", human_seconds(*left)});
  } else if (!job.empty()) {
    section.rows.push_back({"time left", "no limit, or squeue does not answer here"});
  }
}

}  // namespace

Probe allocation_probe() {
  return {"allocation", "ranks, nodes, cores and binding, memory, GPUs, time",
          [] { return std::vector<Stage>{{look}}; }, report};
}

}  // namespace lockstep::doctor
