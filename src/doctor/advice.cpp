#include "doctor/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/text.h"
#include "doctor/communication.h"
#include "doctor/network.h"

namespace lockstep::doctor {

namespace {

// Where communication takes less of a step than this, nobody need do anything.
constexpr double worth_a_word = 0.1;
// What a good all-reduce reaches of TCP's rate is 0.9.
constexpr double poor_share = 0.6;
// A link that claims more than so many times what it gives.
constexpr double boast = 2;
// Smaller sums are a matter of latency.
constexpr double large_sum = 8 << 20;

std::span<const RankFacts> of(const Findings& findings, std::string_view probe) {
  const auto at = findings.find(probe);
  return at == findings.end() ? std::span<const RankFacts>() : std::span<const RankFacts>(at->second);
}

std::optional<double> first_number(const Findings& findings, std::string_view probe, const std::string& key) {
  const auto ranks = of(findings, probe);
  return ranks.empty() ? std::nullopt : number_of(ranks.front().facts, key);
}

// The interfaces of rank 0 that MPI may take, as far as their network is that of another rank.
std::vector<Interface> ways(const Findings& findings) {
  const auto ranks = of(findings, "interface");
  std::vector<Interface> used;
  if (ranks.empty()) return used;
  const RankFacts& first = ranks.front();
  const TcpFilter filter{text_of(first.facts, "tcp_if_include"), text_of(first.facts, "tcp_if_exclude")};
  for (const Interface& mine : interfaces_from_text(text_of(first.facts, "interfaces"))) {
    const bool joins = std::any_of(ranks.begin(), ranks.end(), [&](const RankFacts& rank) {
      const auto theirs = interfaces_from_text(text_of(rank.facts, "interfaces"));
      return text_of(rank.facts, "network") != text_of(first.facts, "network") &&
             std::any_of(theirs.begin(), theirs.end(), [&](const Interface& other) {
               return same_subnet(mine, other) && mine.address != other.address;
             });
    });
    if (joins && allows(filter, mine)) used.push_back(mine);
  }
  return used;
}

void advise_on_network(const Findings& findings, std::vector<std::string>& advice) {
  const Spread tcp = spread(of(findings, "communication"), "tcp_rate", Better::higher);
  if (tcp.count == 0) return;
  const auto used = ways(findings);
  if (used.size() == 1 && used[0].mbit > 0 &&
      static_cast<double>(used[0].mbit) * 1e6 > boast * tcp.worst * 8) {
    advice.push_back(fmt::format(
        "{} claims {}, TCP gets {}: is the link shared, shaped, or are the cores busy?", used[0].name,
        human_rate(static_cast<double>(used[0].mbit) * 1e6), human_rate(tcp.worst * 8)));
  }
  const auto ranks = of(findings, "communication");
  const bool by_nccl = sums_by_nccl(ranks.front().facts);
  const auto times = training_sum_times(ranks.front().facts);
  if (times.empty() || times.back().bytes < large_sum) return;
  const double rate = bus_rate(times.back().bytes, times.back().seconds, ranks.size());
  if (rate < poor_share * tcp.worst) {
    advice.push_back(
        fmt::format("{} gets {:.0f} % of what TCP gets on this link: {}", by_nccl ? "NCCL" : "all-reduce",
                    100 * rate / tcp.worst,
                    by_nccl ? "NCCL_DEBUG=INFO shows the way that it takes (NCCL_SOCKET_IFNAME, NCCL_IB_HCA)"
                            : "leave each rank a core of its own (--cpus-per-task), or fewer ranks per "
                              "node"));
  }
}

void advise_on_step(const Findings& findings, std::vector<std::string>& advice) {
  const auto gradient = first_number(findings, "model", "gradient_bytes");
  const auto own = first_number(findings, "model", "own_micro_batches");
  const Spread micro = spread(of(findings, "model"), "micro_batch_seconds", Better::lower);
  const auto ranks = of(findings, "communication");
  if (!gradient || !own || micro.count == 0 || ranks.size() < 2) return;
  const bool by_nccl = sums_by_nccl(ranks.front().facts);
  const auto times = training_sum_times(ranks.front().facts);
  if (times.empty()) return;
  const double compute = micro.worst * *own;
  const double communicate = sum_seconds(times, *gradient);
  const Spread tcp = spread(ranks, "tcp_rate", Better::higher);
  const auto used = ways(findings);
  const std::string way = by_nccl          ? "NCCL"
                          : tcp.count == 0 ? "shared memory"
                          : used.size() == 1
                              ? fmt::format("{} at {}", used[0].name, human_rate(tcp.worst * 8))
                              : fmt::format("TCP at {}", human_rate(tcp.worst * 8));
  const std::string fact = fmt::format(
      "{}: a step of this model needs {:.2g} s of communication ({}) and {:.2g} s of "
      "computation",
      way, communicate, human_bytes(*gradient), compute);
  if (communicate < worth_a_word * (communicate + compute)) {
    advice.push_back(fact + ": communication is no matter");
  } else if (communicate < compute) {
    advice.push_back(fmt::format("{}: overlap can hide it (comm.overlap = on{})", fact,
                                 by_nccl ? "" : ", a spare core per rank"));
  } else {
    const double times_larger = communicate / compute;
    advice.push_back(
        fmt::format("{}: use fewer ranks, {}or a train.global_batch {:.0f} times as large; "
                    "comm.overlap hides {:.0f} % at most",
                    fact, tcp.count == 0 ? "" : "a faster network, ", std::max(2., times_larger),
                    100 * compute / communicate));
  }
}

void advise_on_checkpoints(const Findings& findings, std::vector<std::string>& advice) {
  const auto state = first_number(findings, "model", "state_bytes");
  const Spread writes = spread(of(findings, "folder"), "write_rate", Better::higher);
  const Spread free = spread(of(findings, "folder"), "free_bytes", Better::higher);
  if (!state || writes.count == 0 || writes.sum <= 0) return;
  constexpr double long_save = 10;  // seconds
  const double seconds = *state / writes.sum;
  if (seconds > long_save) {
    advice.push_back(
        fmt::format("a checkpoint of {} takes about {}: choose checkpoint.minutes accordingly, and ask for "
                    "that much grace time at least",
                    human_bytes(*state), human_seconds(seconds)));
  }
  constexpr double copies = 4;  // those kept, the one being written, and some air
  if (free.count > 0 && free.worst < copies * *state) {
    advice.push_back(
        fmt::format("{} are free and a checkpoint takes {}: make room, lower checkpoint.keep, or choose "
                    "another run.dir",
                    human_bytes(free.worst), human_bytes(*state)));
  }
}

void advise_on_memory(const Findings& findings, std::vector<std::string>& advice) {
  const auto state = first_number(findings, "model", "state_bytes");
  const Spread limit = spread(of(findings, "allocation"), "memory_limit", Better::higher);
  if (!state || limit.count == 0 || 2 * *state < limit.worst) return;
  advice.push_back(
      fmt::format("the model's state alone takes {} of the {} that the job may use: ask for more (--mem)",
                  human_bytes(*state), human_bytes(limit.worst)));
}

}  // namespace

double sum_seconds(const std::vector<SumTime>& times, double bytes) {
  const auto after =
      std::find_if(times.begin(), times.end(), [&](const SumTime& time) { return time.bytes >= bytes; });
  if (after == times.end()) return times.back().seconds * bytes / times.back().bytes;
  if (after == times.begin()) return after->seconds;
  const auto before = after - 1;
  const double part = (bytes - before->bytes) / (after->bytes - before->bytes);
  return before->seconds + part * (after->seconds - before->seconds);
}

std::vector<std::string> advise(const Findings& findings) {
  std::vector<std::string> advice;
  advise_on_step(findings, advice);
  advise_on_network(findings, advice);
  advise_on_checkpoints(findings, advice);
  advise_on_memory(findings, advice);
  return advice;
}

}  // namespace lockstep::doctor
