#include "doctor/facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"

namespace lockstep::doctor {

namespace {

constexpr const char* problem_key = "problem";
constexpr const char* code_key = "problem_code";

}  // namespace

std::string to_text(const RankFacts& facts) {
  std::string text;
  const auto add = [&](const std::string& key, std::string value) {
    std::replace(value.begin(), value.end(), '\n', ' ');
    text += fmt::format("{}={}\n", key, value);
  };
  for (const auto& [key, value] : facts.facts) add(key, value);
  if (!facts.problem.empty()) {
    add(problem_key, facts.problem);
    add(code_key, fmt::format("{}", static_cast<int>(facts.code)));
  }
  return text;
}

RankFacts from_text(std::string_view text, int rank, const std::string& node) {
  RankFacts result{rank, node, parse_key_values(text), "", ExitCode::finished};
  if (const auto at = result.facts.find(problem_key); at != result.facts.end()) {
    result.problem = at->second;
    result.code = static_cast<ExitCode>(parse_int(text_of(result.facts, code_key)).value_or(0));
    result.facts.erase(problem_key);
    result.facts.erase(code_key);
  }
  return result;
}

std::string text_of(const Facts& facts, const std::string& key) {
  const auto at = facts.find(key);
  return at == facts.end() ? std::string() : at->second;
}

std::optional<double> number_of(const Facts& facts, const std::string& key) {
  return parse_double(text_of(facts, key));
}

std::string name_of(const RankFacts& rank) {
  return fmt::format("rank {} on {}", rank.rank, rank.node);
}

Spread spread(std::span<const RankFacts> ranks, const std::string& key, Better better) {
  Spread result;
  std::vector<double> values;
  for (const RankFacts& rank : ranks) {
    const auto value = number_of(rank.facts, key);
    if (!value) continue;
    values.push_back(*value);
    result.sum += *value;
    const bool worse = better == Better::higher ? *value < result.worst : *value > result.worst;
    if (result.worst_rank == nullptr || worse) {
      result.worst = *value;
      result.worst_rank = &rank;
    }
  }
  result.count = static_cast<int>(values.size());
  if (values.empty()) return result;
  std::sort(values.begin(), values.end());
  result.typical = better == Better::higher ? values[values.size() / 2] : values[(values.size() - 1) / 2];
  return result;
}

bool stands_out(const Spread& spread, Better better, double times) {
  if (spread.count < 2) return false;
  return better == Better::higher ? spread.worst * times < spread.typical
                                  : spread.worst > spread.typical * times;
}

}  // namespace lockstep::doctor
