#include "train/signal_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "core/text.h"
#include "slurm/stop_signals.h"

namespace lockstep::train {

namespace {

constexpr std::size_t most_named = 16;  // a line for people: beyond that the number says enough

}  // namespace

std::vector<ReceivedSignal> gather_signals(comm::Group& comm, const std::string& node) {
  std::vector<ReceivedSignal> signals;
  for (const std::string& text :
       comm::gather_texts(comm, fmt::format("{} {}", slurm::received_stop_signal(), node))) {
    const auto blank = text.find(' ');
    signals.push_back(
        {static_cast<int>(parse_int(text.substr(0, blank)).value_or(0)), text.substr(blank + 1)});
  }
  return signals;
}

std::vector<std::string> signal_lines(const std::vector<ReceivedSignal>& signals,
                                      std::optional<double> seconds_left) {
  std::map<int, std::vector<std::string>> receivers;
  for (std::size_t rank = 0; rank < signals.size(); ++rank) {
    if (signals[rank].number == 0) continue;
    receivers[signals[rank].number].push_back(fmt::format("rank {} on {}", rank, signals[rank].node));
  }
  std::vector<std::string> lines;
  for (auto& [number, ranks] : receivers) {
    const std::size_t all = ranks.size();
    if (all > most_named) {
      ranks.resize(most_named);
      ranks.push_back(fmt::format("and {} others", all - most_named));
    }
    lines.push_back(fmt::format("{} to {}{}", slurm::signal_name(number), fmt::join(ranks, "; "),
                                seconds_left ? fmt::format("; {:.0f} s left", *seconds_left) : ""));
  }
  return lines;
}

}  // namespace lockstep::train
