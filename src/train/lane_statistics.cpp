#include "train/lane_statistics.h"

#include <algorithm>
#include <cmath>

namespace lockstep::train {

LaneStatistics::LaneStatistics(Learner& learner, comm::Group& comm, int lanes)
    : learner_(learner), comm_(comm), count_(static_cast<std::size_t>(learner.statistic_count())) {
  for (int rank = 0; rank < comm.size(); ++rank) {
    counts_.push_back(comm::lanes_of(rank, comm.size(), lanes).count() * learner.statistic_count());
  }
  values_.resize(static_cast<std::size_t>(lanes) * count_);
}

std::span<float> LaneStatistics::of_lane(int lane) {
  return std::span(values_).subspan(static_cast<std::size_t>(lane) * count_, count_);
}

void LaneStatistics::record(int lane) {
  if (count_ > 0) learner_.take_statistics(of_lane(lane));
}

void LaneStatistics::gather() {
  if (count_ > 0) comm_.all_gather_slices(values_, counts_);
}

bool LaneStatistics::finite(std::span<const double> samples) const {
  for (std::size_t lane = 0; lane < samples.size(); ++lane) {
    const auto values = std::span(values_).subspan(lane * count_, count_);
    const bool counts = samples[lane] > 0;
    if (counts && !std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); })) {
      return false;
    }
  }
  return true;
}

void LaneStatistics::apply(std::span<const double> samples) {
  if (count_ == 0) return;
  for (std::size_t lane = 0; lane < samples.size(); ++lane) {
    if (samples[lane] > 0) learner_.absorb_statistics(of_lane(static_cast<int>(lane)));
  }
}

}  // namespace lockstep::train
