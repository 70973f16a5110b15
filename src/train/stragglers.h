// Which rank is slower than the others, and in what. All wait for the slowest one in every step, so its own
// work decides: waiting for data and computing, never waiting for others.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "train/stepper.h"

namespace lockstep::train {

// One rank's seconds per step. Of its own work as it would be with as many lanes as the busiest rank has: a
// rank that is dealt one more is not slow.
struct Pace {
  double data = 0;
  double compute = 0;
  double communication = 0;  // waiting for slower ranks included
  double work() const { return data + compute; }
};

// Adds up a rank's steps. The slowest one of a stretch does not count: a single pause is no slowness.
class PaceMeter {
 public:
  // The rank's lanes, and those of the busiest rank: at least 1. The first `settling` steps do not count.
  PaceMeter(int lanes, int most_lanes, int settling = 0);
  void add(const StepReport& report);
  std::int64_t steps() const { return steps_; }
  // Zeros where there was no step.
  Pace pace() const;
  // After the settling.
  void restart();

 private:
  double scale_;
  int settling_;
  std::int64_t steps_ = 0;
  Pace sum_;
  Pace slowest_;
};

// The middle one, of an even number the smaller of the two: of two ranks one can be slow. Not of nothing.
double lower_median(std::vector<double> values);

// What changed with a rank.
struct PaceChange {
  int rank = 0;
  bool slow = false;  // else it keeps up again
  std::string text;   // "rank 2 on n3 is slow: ..."
};

class StragglerWatch {
 public:
  // Slow is whose work is more than `factor` times the median rank's, `factor` above 1, and by more than
  // `least` seconds a step, below which it is noise.
  StragglerWatch(double factor, std::vector<std::string> nodes, double least = 2e-3);

  // The paces of all ranks over the last `steps` steps, and what has held their GPUs' clocks down meanwhile
  // (GpuReading::throttle_reasons; none where that is not known). Each spell of slowness is told at its
  // beginning and at its end: below half of the way to what makes it slow. A reason that all other ranks'
  // GPUs have too explains nothing, and is not told.
  std::vector<PaceChange> judge(std::span<const Pace> paces, std::span<const std::uint64_t> throttled,
                                std::int64_t steps);

  // Who is slow now: "rank 2 on n3 (computing, GPU: heat); ...", or nothing.
  std::string present() const;

 private:
  double factor_;
  std::vector<std::string> nodes_;
  double least_;
  std::vector<std::string> slow_in_;  // of each rank, what it is slow in; empty: it is not
};

// ranks.csv: a row for each rank, of the steps of this attempt.
std::string ranks_table(std::span<const Pace> paces, std::span<const std::string> nodes, std::int64_t steps);

}  // namespace lockstep::train
