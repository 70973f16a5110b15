// How far the clocks of the nodes are apart: they date events and heartbeats, and compare with Slurm's times.
#include <fmt/format.h>

#include <cmath>
#include <set>

#include "core/clock.h"
#include "doctor/probes.h"

namespace lockstep::doctor {

namespace {

constexpr int question_tag = 1001;
constexpr int answer_tag = 1002;
constexpr int rounds = 10;
constexpr double much = 0.5;  // seconds

std::span<std::byte> bytes_of(double& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

// The first rank of each node, rank 0's excepted.
std::vector<int> partners(const Meeting& meeting) {
  std::vector<int> chosen;
  std::set<std::string> nodes = {meeting.host(0)};
  for (int r = 1; r < meeting.size(); ++r) {
    if (nodes.insert(meeting.host(r)).second) chosen.push_back(r);
  }
  return chosen;
}

// The round that took least time is the one whose middle is known best.
double ask(Context& context, int peer, double deadline) {
  double offset = 0, shortest = 0;
  for (int round = 0; round < rounds; ++round) {
    double sent = wall_seconds();
    double theirs = 0;
    const double begin = monotonic_seconds();
    const auto answer = context.messages.receive(peer, answer_tag, bytes_of(theirs));
    context.messages.wait(context.messages.send(peer, question_tag, bytes_of(sent)), deadline);
    context.messages.wait(answer, deadline);
    const double took = monotonic_seconds() - begin;
    if (round == 0 || took < shortest) {
      shortest = took;
      offset = theirs - (sent + took / 2);
    }
  }
  context.messages.wait(context.messages.send(peer, question_tag, bytes_of(offset)), deadline);
  return offset;
}

void measure(Context& context, Facts& mine) {
  const double deadline = monotonic_seconds() + context.meeting.limit();
  for (const int partner : partners(context.meeting)) {
    if (context.rank() == 0) ask(context, partner, deadline);
    if (context.rank() != partner) continue;
    double value = 0;
    for (int round = 0; round < rounds; ++round) {
      context.messages.wait(context.messages.receive(0, question_tag, bytes_of(value)), deadline);
      double now = wall_seconds();
      context.messages.wait(context.messages.send(0, answer_tag, bytes_of(now)), deadline);
    }
    context.messages.wait(context.messages.receive(0, question_tag, bytes_of(value)), deadline);
    mine["ahead"] = fmt::format("{:.6f}", value);
    mine["apart"] = fmt::format("{:.6f}", std::abs(value));
  }
}

void report(const Findings&, Section& section) {
  const Spread apart = spread(section.ranks, "apart", Better::lower);
  if (apart.count == 0) {
    section.rows.push_back({"clocks", "one node, one clock"});
    return;
  }
  section.rows.push_back({"clocks", fmt::format("at most {:.2g} s apart from {}'s ({})", apart.worst,
                                                section.ranks.front().node, apart.worst_rank->node)});
  for (const RankFacts& rank : section.ranks) {
    const double ahead = number_of(rank.facts, "ahead").value_or(0);
    if (std::abs(ahead) <= much) continue;
    section.warnings.push_back(
        fmt::format("the clock of {} is {:.1f} s {} {}'s: let the nodes keep time (chrony, NTP)", rank.node,
                    std::abs(ahead), ahead > 0 ? "ahead of" : "behind", section.ranks.front().node));
  }
}

}  // namespace

Probe clock_probe() {
  return {"clocks", "how far the nodes' clocks are apart", [] { return std::vector<Stage>{{measure}}; },
          report};
}

}  // namespace lockstep::doctor
