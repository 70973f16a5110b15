#include "step/rank0.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <unordered_set>
#include <utility>

#include "core/text.h"
#include "step/host_file.h"
#include "step/hostlist.h"
#include "step/task_layout.h"

namespace lockstep::spank {

namespace {

constexpr int max_components = 128;  // Slurm's own limit

struct Answer {
  std::string node;
  std::string note;
};

struct Sources {
  const Environment& environment;
  const Step& step;
  const TaskLayout& layout;
  std::vector<std::string> hosts;   // of the step, in the order of its node list
  std::optional<std::size_t> here;  // this node's place in it
};

std::string value_of(const Environment& environment, std::string_view name) {
  return find(environment, name).value_or("");
}

bool is_arbitrary(const Environment& environment) {
  return value_of(environment, "SLURM_DISTRIBUTION").starts_with("arbitrary");
}

// With PMIx, Slurm gives each task the whole layout. Under a launcher without PMIx that an outer step's task
// has started it is the outer step's: SLURM_MPI_TYPE tells, and the layout must put this task on this node.
std::optional<std::string> by_pmix(const Sources& sources) {
  if (!value_of(sources.environment, "SLURM_MPI_TYPE").starts_with("pmix")) return std::nullopt;
  const auto mapping = parse_task_mapping(value_of(sources.environment, "SLURM_PMIX_MAPPING_SERV"));
  if (!mapping || !sources.here) return std::nullopt;
  const auto place_of = [&](int rank) { return node_of_rank(*mapping, rank).value_or(-1); };
  if (place_of(sources.step.rank) != static_cast<int>(*sources.here)) return std::nullopt;
  if (place_of(sources.step.ranks) != -1) return std::nullopt;
  const auto place = static_cast<std::size_t>(place_of(0));
  if (place >= sources.hosts.size()) return std::nullopt;
  return sources.hosts[place];
}

// The step's hosts that belong to each component of the heterogeneous job; components without any are left
// out.
std::vector<std::vector<std::string>> components_of(const Sources& sources) {
  std::vector<std::vector<std::string>> components;
  const auto size = parse_int(value_of(sources.environment, "SLURM_HET_SIZE")).value_or(0);
  for (int i = 0; i < std::min<std::int64_t>(size, max_components); ++i) {
    auto list = find(sources.environment, fmt::format("SLURM_JOB_NODELIST_HET_GROUP_{}", i));
    if (!list) list = find(sources.environment, fmt::format("SLURM_JOB_NODELIST_PACK_GROUP_{}", i));
    if (!list) continue;
    const std::vector<std::string> all = expand_hostlist(*list, max_nodes);
    const std::unordered_set<std::string_view> group(all.begin(), all.end());
    std::vector<std::string> used;
    std::copy_if(sources.hosts.begin(), sources.hosts.end(), std::back_inserter(used),
                 [&](const std::string& host) { return group.contains(host); });
    if (!used.empty()) components.push_back(std::move(used));
  }
  return components;
}

Answer by_components(const Sources& sources, const std::vector<std::vector<std::string>>& components) {
  // Nodes are numbered through the components. Each has a distribution of its own, and we see ours.
  std::vector<std::string> order;
  for (const auto& component : components) order.insert(order.end(), component.begin(), component.end());
  const auto index = static_cast<std::size_t>(sources.step.node_index);
  if (index >= order.size() || order[index] != sources.step.node || is_arbitrary(sources.environment)) {
    return {"", "the order of the components' nodes is in no variable"};
  }
  return {order.front(), "first node of the step's first component (SLURM_JOB_NODELIST_HET_GROUP_*)"};
}

// Whether a host file can be this step's: another step's may still be in the environment.
bool fits(const HostFile& file, const Sources& sources) {
  std::map<std::string, std::int64_t> left;
  for (std::size_t i = 0; i < sources.hosts.size(); ++i)
    left[sources.hosts[i]] += sources.layout.tasks_per_node[i];
  std::int64_t ranks = 0;
  for (const HostFile::Entry& entry : file.entries) {
    const auto tasks = std::min<std::int64_t>(entry.tasks, sources.step.ranks - ranks);
    if (tasks == 0) break;
    const auto host = left.find(entry.host);
    if (host == left.end() || host->second < tasks) return false;
    host->second -= tasks;
    const bool ours = ranks <= sources.step.rank && sources.step.rank < ranks + tasks;
    if (ours && entry.host != sources.step.node) return false;
    ranks += tasks;
  }
  return ranks == sources.step.ranks || (ranks > 0 && !file.complete);
}

Answer by_host_file(const Sources& sources) {
  const std::string path = value_of(sources.environment, "SLURM_HOSTFILE");
  if (path.empty())
    return {"", "the distribution is arbitrary, and the order of its hosts is in no variable"};
  const auto file = read_host_file(path);
  if (!file)
    return {"", "the distribution is arbitrary, and its host file (SLURM_HOSTFILE) cannot be read here"};
  if (sources.layout.tasks_per_node.size() != sources.hosts.size() || !fits(*file, sources)) {
    return {"", "the distribution is arbitrary, and the host file (SLURM_HOSTFILE) is not this step's"};
  }
  return {file->entries.front().host, "first host of the host file (SLURM_HOSTFILE)"};
}

// Nodes are numbered in the order of the step's node list, but for steps of several components.
bool numbered_by_list(const Sources& sources) {
  return !sources.here || static_cast<std::size_t>(sources.step.node_index) == *sources.here;
}

Answer answer(const Sources& sources, const std::vector<std::vector<std::string>>& components) {
  const std::vector<int>& ranks = sources.layout.ranks_here;
  const bool here = sources.step.rank == 0 || std::find(ranks.begin(), ranks.end(), 0) != ranks.end();
  if (here && !sources.step.node.empty()) return {sources.step.node, "this node"};
  const std::vector<std::string>& hosts = sources.hosts;
  if (hosts.empty()) return {"", "SLURM_STEP_NODELIST is not set"};
  if (auto node = by_pmix(sources)) {
    return {*node, "from the layout that Slurm gives PMIx (SLURM_PMIX_MAPPING_SERV)"};
  }
  if (hosts.size() == 2 && sources.here && !ranks.empty()) {
    return {hosts[1 - *sources.here], "the other node of the step"};
  }
  if (components.size() > 1) return by_components(sources, components);
  if (is_arbitrary(sources.environment)) return by_host_file(sources);
  if (!numbered_by_list(sources)) {
    return {"", "the step has several components, whose order is in no variable"};
  }
  return {hosts.front(), "first host of the step (SLURM_STEP_NODELIST)"};
}

}  // namespace

Rank0 find_rank0(const Environment& environment, const Step& step, const TaskLayout& layout) {
  try {
    Sources sources{environment, step, layout, {}, std::nullopt};
    sources.hosts = expand_hostlist(value_of(environment, "SLURM_STEP_NODELIST"), max_nodes);
    const auto here = std::find(sources.hosts.begin(), sources.hosts.end(), step.node);
    if (here != sources.hosts.end()) sources.here = static_cast<std::size_t>(here - sources.hosts.begin());
    const auto components = components_of(sources);
    auto [node, note] = answer(sources, components);
    return {std::move(node), std::move(note), components.size() > 1 || !numbered_by_list(sources)};
  } catch (const HostlistError& error) {
    return {"", error.what(), false};
  }
}

}  // namespace lockstep::spank
