#include "train/stragglers.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "device/gpu_reading.h"
#include "train/step_log.h"

namespace lockstep::train {

namespace {

Pace operator+(const Pace& a, const Pace& b) {
  return {a.data + b.data, a.compute + b.compute, a.communication + b.communication};
}

Pace median_of(std::span<const Pace> paces) {
  std::vector<double> data;
  std::vector<double> compute;
  for (const Pace& pace : paces) {
    data.push_back(pace.data);
    compute.push_back(pace.compute);
  }
  return {lower_median(data), lower_median(compute), 0};
}

// Of those that some other rank's GPU does without.
std::string own_reasons(std::span<const std::uint64_t> throttled, std::size_t rank) {
  std::uint64_t of_all_others = throttled.size() > 1 ? ~std::uint64_t{0} : 0;
  for (std::size_t other = 0; other < throttled.size(); ++other) {
    if (other != rank) of_all_others &= throttled[other];
  }
  return device::throttle_text(throttled[rank] & ~of_all_others);
}

double median_work(std::span<const Pace> paces) {
  std::vector<double> work;
  for (const Pace& pace : paces) work.push_back(pace.work());
  return lower_median(work);
}

}  // namespace

PaceMeter::PaceMeter(int lanes, int most_lanes, int settling)
    : scale_(static_cast<double>(most_lanes) / lanes), settling_(settling) {}

void PaceMeter::add(const StepReport& report) {
  if (settling_ > 0) {
    --settling_;
    return;
  }
  // The update takes each rank the same, whatever its lanes.
  const Pace step{scale_ * report.data_seconds,
                  scale_ * (report.compute_seconds - report.update_seconds) + report.update_seconds,
                  report.communication_seconds};
  ++steps_;
  sum_ = sum_ + step;
  if (step.work() > slowest_.work()) slowest_ = step;
}

Pace PaceMeter::pace() const {
  if (steps_ == 0) return {};
  if (steps_ == 1) return sum_;
  const auto steps = static_cast<double>(steps_ - 1);
  return {(sum_.data - slowest_.data) / steps, (sum_.compute - slowest_.compute) / steps,
          (sum_.communication - slowest_.communication) / steps};
}

void PaceMeter::restart() {
  steps_ = 0;
  sum_ = slowest_ = {};
}

double lower_median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

StragglerWatch::StragglerWatch(double factor, std::vector<std::string> nodes, double least)
    : factor_(factor), nodes_(std::move(nodes)), least_(least), slow_in_(nodes_.size()) {}

std::vector<PaceChange> StragglerWatch::judge(std::span<const Pace> paces,
                                              std::span<const std::uint64_t> throttled, std::int64_t steps) {
  std::vector<PaceChange> changes;
  const Pace median = median_of(paces);
  const double work = median_work(paces);
  for (std::size_t rank = 0; rank < paces.size(); ++rank) {
    const Pace& pace = paces[rank];
    std::string& slow_in = slow_in_[rank];
    const double limit = std::max(factor_ * work, work + least_);
    const bool was_slow = !slow_in.empty();
    const bool is_slow = pace.work() > (was_slow ? work + (limit - work) / 2 : limit);
    if (is_slow == was_slow) continue;
    const std::string who = fmt::format("rank {} on {}", rank, nodes_[rank]);
    if (!is_slow) {
      slow_in.clear();
      changes.push_back({static_cast<int>(rank), false, fmt::format("{} keeps up again", who)});
      continue;
    }
    const bool by_data = pace.data - median.data > pace.compute - median.compute;
    const std::string_view what = by_data ? "waiting for data" : "computing";
    const std::string reasons = own_reasons(throttled, rank);
    slow_in = reasons.empty() ? what : fmt::format("{}, GPU: {}", what, reasons);
    const double part = by_data ? pace.data : pace.compute;
    const double median_part = by_data ? median.data : median.compute;
    changes.push_back(
        {static_cast<int>(rank), true,
         fmt::format("{} is slow: over {} steps its own work took {:.1f} ms a step, the median rank's {:.1f} "
                     "ms; it is slow in {}: {:.1f} ms, median {:.1f} ms{}",
                     who, steps, 1e3 * pace.work(), 1e3 * work, what, 1e3 * part, 1e3 * median_part,
                     reasons.empty() ? "" : fmt::format("; what slows its GPU down: {}", reasons))});
  }
  return changes;
}

std::string StragglerWatch::present() const {
  std::string text;
  for (std::size_t rank = 0; rank < slow_in_.size(); ++rank) {
    if (slow_in_[rank].empty()) continue;
    text += fmt::format("{}rank {} on {} ({})", text.empty() ? "" : "; ", rank, nodes_[rank], slow_in_[rank]);
  }
  return text;
}

std::string ranks_table(std::span<const Pace> paces, std::span<const std::string> nodes, std::int64_t steps) {
  std::string text = "rank,node,steps,data_seconds,compute_seconds,communication_seconds\n";
  for (std::size_t rank = 0; rank < paces.size(); ++rank) {
    const Pace& pace = paces[rank];
    text += fmt::format("{},{},{},{:.6f},{:.6f},{:.6f}\n", rank, csv_field(nodes[rank]), steps, pace.data,
                        pace.compute, pace.communication);
  }
  return text;
}

}  // namespace lockstep::train
