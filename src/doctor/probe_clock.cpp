// How far the clocks of the nodes are apart: they date events and heartbeats, and compare with Slurm's times.
#include <fmt/format.h>

#include <cmath>
#include <set>

#include "comm/room.h"
#include "core/clock.h"
#include "doctor/probes.h"

namespace lockstep::doctor {

namespace {

constexpr int question_tag = 1001;
constexpr int answer_tag = 1002;
constexpr int rounds = 10;
constexpr double much = 0.5;  // seconds

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
  comm::RoomFor<double> question(context.messages, 1), answered(context.messages, 1);
  double offset = 0, shortest = 0;
  for (int round = 0; round < rounds; ++round) {
    const double sent = wall_seconds();
    const double begin = monotonic_seconds();
    const auto answer = context.messages.receive(peer, answer_tag, answered.bytes());
    context.messages.wait(context.messages.send(peer, question_tag, question.bytes()), deadline);
    context.messages.wait(answer, deadline);
    const double took = monotonic_seconds() - begin;
    if (round == 0 || took < shortest) {
      shortest = took;
      offset = answered.values().front() - (sent + took / 2);
    }
  }
  question.values().front() = offset;
  context.messages.wait(context.messages.send(peer, question_tag, question.bytes()), deadline);
  return offset;
}

void measure(Context& context, Facts& mine) {
  const double deadline = monotonic_seconds() + context.patience.limit();
  for (const int partner : partners(context.meeting)) {
    if (context.rank() == 0) ask(context, partner, deadline);
    if (context.rank() != partner) continue;
    comm::RoomFor<double> question(context.messages, 1), answer(context.messages, 1);
    for (int round = 0; round < rounds; ++round) {
      context.messages.wait(context.messages.receive(0, question_tag, question.bytes()), deadline);
      answer.values().front() = wall_seconds();
      context.messages.wait(context.messages.send(0, answer_tag, answer.bytes()), deadline);
    }
    context.messages.wait(context.messages.receive(0, question_tag, question.bytes()), deadline);
    const double value = question.values().front();
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
