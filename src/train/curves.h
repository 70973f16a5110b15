// The curves of a run, from the CSV files of its folder: for `lockstep plot`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::train {

struct Point {
  double step;
  double value;
};
using Series = std::vector<Point>;

// The column `name` over the column "step". Rows whose field is empty, no number or not finite are left out:
// a step that was passed over, the accuracy of a regression. Empty where there is no such column. A torn last
// line is ignored.
Series column(std::string_view csv, std::string_view name);

// Steps that the run's result does not hold: passed over after a rollback, which is an empty loss in
// metrics.csv, or lost with their rows. Of several in a row the first may stand for all.
std::vector<double> missing_steps(std::string_view metrics);

// The series cut where one of these steps, in order, lies between two points.
std::vector<Series> pieces(const Series& series, const std::vector<double>& missing);

// Samples per second of each step that is in both files.
Series throughput(std::string_view metrics, std::string_view timings);

// The throughput over several steps at each step: slow steps weigh as much as they take. No value is 0.
Series smoothed_rate(const Series& rate);

// At most `most` points: means of neighbours.
Series thinned(const Series& series, std::size_t most);

// Each point as the mean of those around it.
Series smoothed(const Series& series);

// One attempt that did a step: (from, to] in steps.
struct Stretch {
  std::int64_t from;
  std::int64_t to;
  std::string ranks;  // "4 ranks"
};
// Between two attempts.
struct Restart {
  std::int64_t step;     // that the later one went on from
  std::string ending;    // "stopped (signal TERM)", "failed (exit code 76)"
  std::string going_on;  // "resumed 34 s later", "resumed from step 40"
};
struct Attempts {
  std::vector<Stretch> stretches;
  std::vector<Restart> restarts;  // one for each step, the first there
};
// From the text of events.csv; `last_step` is where the curves end.
Attempts attempts_of(std::string_view events, std::int64_t last_step);

}  // namespace lockstep::train
