// How many tasks of a step run on which node, as Slurm writes it.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace lockstep::spank {

inline constexpr int max_nodes = 100'000;  // of a step: bounds memory, far above what Slurm runs on

// SLURM_STEP_TASKS_PER_NODE, as "2(x3),1": tasks of each node in the order of the step's node list. Nothing
// where the text is no such list or has more than max_nodes nodes.
std::optional<std::vector<int>> parse_tasks_per_node(std::string_view text);

// SLURM_GTIDS, as "0,4": the ranks on this node. Nothing where the text is no such list.
std::optional<std::vector<int>> parse_ranks(std::string_view text);

// SLURM_PMIX_MAPPING_SERV, as "(vector,(2,1,1),(0,2,1))": blocks of (first node, nodes, tasks on each), ranks
// counted up through them. A node is an index into the step's node list.
struct TaskBlock {
  int first_node = 0;
  int nodes = 0;
  int tasks = 0;  // on each node
};
std::optional<std::vector<TaskBlock>> parse_task_mapping(std::string_view text);

// The node of a rank; nothing where the mapping has fewer ranks.
std::optional<int> node_of_rank(const std::vector<TaskBlock>& mapping, int rank);

}  // namespace lockstep::spank
