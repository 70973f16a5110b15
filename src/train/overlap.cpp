#include "train/overlap.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace lockstep::train {

namespace {

double median(const std::vector<StepTime>& times, double StepTime::*part) {
  std::vector<double> values;
  for (const StepTime& time : times) values.push_back(time.*part);
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

Overlap::Overlap(std::string_view choice, int ranks) {
  if (ranks == 1 || choice == "off") decided_ = false;
  if (ranks > 1 && choice == "on") decided_ = true;
}

bool Overlap::on() const {
  return decided_.value_or(steps_ % 2 == 1);
}

std::optional<std::string> Overlap::record(const StepTime& time, comm::Group& comm) {
  if (decided_) return std::nullopt;
  if (steps_ >= warm_up) times_[on() ? 1 : 0].push_back(time);
  if (++steps_ < warm_up + 2 * measured) return std::nullopt;

  std::array<double, 4> figures{};
  for (std::size_t way = 0; way < 2; ++way) {
    figures[2 * way] = median(times_[way], &StepTime::seconds);
    figures[2 * way + 1] = median(times_[way], &StepTime::communication_seconds);
  }
  comm.all_reduce_sum(std::span<double>(figures));
  for (double& figure : figures) figure /= comm.size();
  const auto [apart, apart_waiting, together, together_waiting] = figures;
  decided_ = together < apart;
  const double hidden = apart_waiting > 0 ? 1 - together_waiting / apart_waiting : 0;
  return fmt::format(
      "comm.overlap = {}: a step takes {:.1f} ms with overlap and {:.1f} ms without, waiting {:.1f} and "
      "{:.1f} ms for other ranks ({:.0f} % of the communication hidden)",
      *decided_ ? "on" : "off", 1e3 * together, 1e3 * apart, 1e3 * together_waiting, 1e3 * apart_waiting,
      100 * std::max(0., hidden));
}

}  // namespace lockstep::train
