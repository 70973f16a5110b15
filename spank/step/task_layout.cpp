#include "step/task_layout.h"

#include <cstdint>
#include <string>

#include "core/text.h"

namespace lockstep::spank {

namespace {

constexpr std::size_t max_text = std::size_t{4} << 20;
constexpr int max_number = 1 << 24;

// A whole number from 0 to max_number without sign.
std::optional<int> parse_number(std::string_view text) {
  if (text.empty() || text.front() == '-') return std::nullopt;
  const auto value = parse_int(text);
  if (!value || *value > max_number) return std::nullopt;
  return static_cast<int>(*value);
}

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::optional<TaskBlock> parse_block(std::string_view text) {
  const std::vector<std::string> parts = split(text, ',');
  if (parts.size() != 3) return std::nullopt;
  const auto first = parse_number(parts[0]);
  const auto nodes = parse_number(parts[1]);
  const auto tasks = parse_number(parts[2]);
  if (!first || !nodes || !tasks || *nodes == 0 || *tasks == 0) return std::nullopt;
  return TaskBlock{*first, *nodes, *tasks};
}

}  // namespace

std::optional<std::vector<int>> parse_tasks_per_node(std::string_view text) {
  if (text.empty() || text.size() > max_text) return std::nullopt;
  std::vector<int> tasks;
  for (const std::string& part : split(text, ',')) {
    std::string_view count = part;
    int times = 1;
    if (const auto open = part.find("(x"); open != std::string::npos) {
      if (!part.ends_with(')')) return std::nullopt;
      const auto repeated = parse_number(count.substr(open + 2, part.size() - open - 3));
      if (!repeated || *repeated == 0) return std::nullopt;
      times = *repeated;
      count = count.substr(0, open);
    }
    const auto number = parse_number(count);
    if (!number || times > max_nodes - static_cast<int>(tasks.size())) return std::nullopt;
    tasks.insert(tasks.end(), static_cast<std::size_t>(times), *number);
  }
  return tasks;
}

std::optional<std::vector<int>> parse_ranks(std::string_view text) {
  if (text.empty() || text.size() > max_text) return std::nullopt;
  std::vector<int> ranks;
  for (const std::string& part : split(text, ',')) {
    const auto rank = parse_number(part);
    if (!rank) return std::nullopt;
    ranks.push_back(*rank);
  }
  return ranks;
}

std::optional<std::vector<TaskBlock>> parse_task_mapping(std::string_view text) {
  if (text.size() > max_text || !take(text, "(vector") || !text.ends_with(')')) return std::nullopt;
  text.remove_suffix(1);
  std::vector<TaskBlock> mapping;
  while (take(text, ",(")) {
    const auto close = text.find(')');
    if (close == std::string_view::npos) return std::nullopt;
    const auto block = parse_block(text.substr(0, close));
    if (!block) return std::nullopt;
    mapping.push_back(*block);
    text.remove_prefix(close + 1);
  }
  if (!text.empty() || mapping.empty()) return std::nullopt;
  return mapping;
}

std::optional<int> node_of_rank(const std::vector<TaskBlock>& mapping, int rank) {
  std::int64_t left = rank;
  for (const TaskBlock& block : mapping) {
    const std::int64_t ranks = std::int64_t{block.nodes} * block.tasks;
    if (left < ranks) return block.first_node + static_cast<int>(left / block.tasks);
    left -= ranks;
  }
  return std::nullopt;
}

}  // namespace lockstep::spank
