// What a probe finds on a rank, as plain text: it travels between ranks, is put into words on rank 0, and
// goes into --json as it is.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace lockstep::doctor {

using Facts = std::map<std::string, std::string>;

struct RankFacts {
  int rank = 0;
  std::string node;
  Facts facts;
  std::string problem;                 // why there are none, or not all; empty: all is well
  ExitCode code = ExitCode::finished;  // of the problem
};

// Facts, problem and code; line breaks in values become blanks.
std::string to_text(const RankFacts& facts);
RankFacts from_text(std::string_view text, int rank, const std::string& node);

// Empty, or nothing, where there is no such fact.
std::string text_of(const Facts& facts, const std::string& key);
std::optional<double> number_of(const Facts& facts, const std::string& key);

// "rank 3 on n2".
std::string name_of(const RankFacts& rank);

// How a number that every rank has differs between them. Ranks without it are left out.
struct Spread {
  double typical = 0;  // the median; of an even number the better one of the middle two
  double worst = 0;
  double sum = 0;
  const RankFacts* worst_rank = nullptr;
  int count = 0;
};
enum class Better { higher, lower };
Spread spread(std::span<const RankFacts> ranks, const std::string& key, Better better);

// Whether the worst rank is so many times worse than the typical one. By default as much as a step would
// notice: a rank that takes a third longer holds all others back by as much.
bool stands_out(const Spread& spread, Better better, double times = 4. / 3.);

}  // namespace lockstep::doctor
