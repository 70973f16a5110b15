#include "train/lane_statistics.h"

#include <algorithm>
#include <cmath>

namespace lockstep::train {

void LaneStatistics::record(int lane, const Trained& trained) {
  if (learner_.statistic_count() > 0) learner_.read_statistics(trained, packet_.attached(lane));
}

bool LaneStatistics::finite(std::span<const double> samples) const {
  for (std::size_t lane = 0; lane < samples.size(); ++lane) {
    const auto values = packet_.attached(static_cast<int>(lane));
    const bool counts = samples[lane] > 0;
    if (counts && !std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); })) {
      return false;
    }
  }
  return true;
}

void LaneStatistics::apply(std::span<const double> samples) {
  if (learner_.statistic_count() == 0) return;
  for (std::size_t lane = 0; lane < samples.size(); ++lane) {
    if (samples[lane] > 0) learner_.absorb_statistics(packet_.attached(static_cast<int>(lane)));
  }
}

}  // namespace lockstep::train
