#include "train/records.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "core/clock.h"
#include "core/text.h"

namespace lockstep::train {

// Numbers that must be byte-equal between runs are written with `{}`: the shortest text that reads back
// exactly.
Records::Records(const RunFolder& folder, const Log& log, std::int64_t step, std::int64_t log_every,
                 std::int64_t total_steps)
    : log_(log),
      log_every_(log_every),
      total_steps_(total_steps),
      metrics_(folder.metrics(), "step,epoch,samples,loss,accuracy,learning_rate,gradient_norm", step),
      timings_(folder.timings(), "step,seconds,data_seconds,compute_seconds,communication_seconds", step),
      evaluations_(folder.evaluations(), "step,epoch,samples,loss,accuracy", step),
      // The history of attempts stays whole: nothing in it is undone by a resume.
      events_(folder.events(), "step,time,event,detail", std::numeric_limits<std::int64_t>::max()) {}

void Records::step(std::int64_t step, std::int64_t epoch, std::int64_t samples, const StepReport& report) {
  tell_of_waiting(metrics_.append(fmt::format("{},{},{},{},{},{},{}", step, epoch, samples, report.loss,
                                              report.accuracy, report.learning_rate, report.gradient_norm)));
  timings_.append(fmt::format("{},{:.6f},{:.6f},{:.6f},{:.6f}", step, report.seconds, report.data_seconds,
                              report.compute_seconds, report.communication_seconds));
  interval_.steps += 1;
  interval_.samples += report.samples;
  interval_.seconds += report.seconds;
  interval_.data_seconds += report.data_seconds;
  interval_.communication_seconds += report.communication_seconds;
  if (step % log_every_ == 0 || step == total_steps_) progress(step, epoch, report);
}

// Once, when the disk begins to refuse rows, and once when it takes them again.
void Records::tell_of_waiting(bool all_written) {
  if (std::exchange(rows_wait_, !all_written) == !all_written) return;
  if (all_written) {
    log_.info(fmt::format("{} takes rows again", metrics_.path().string()));
  } else {
    log_.warn(fmt::format("{} cannot be written: its rows wait in memory; make room on that disk",
                          metrics_.path().string()));
  }
}

void Records::progress(std::int64_t step, std::int64_t epoch, const StepReport& report) {
  const double seconds = interval_.seconds > 0 ? interval_.seconds : 1e-9;
  const double left =
      static_cast<double>(total_steps_ - step) * seconds / static_cast<double>(interval_.steps);
  log_.info(
      fmt::format("step {}/{}  epoch {}  loss {:.4f}  lr {:.4g}  {:.0f} samples/s  data wait {:.0f} %  "
                  "communication {:.0f} %  ETA {}",
                  step, total_steps_, epoch, report.loss, report.learning_rate,
                  static_cast<double>(interval_.samples) / seconds, 100 * interval_.data_seconds / seconds,
                  100 * interval_.communication_seconds / seconds, human_seconds(left)));
  interval_ = {};
}

void Records::evaluation(std::int64_t step, std::int64_t epoch, const Evaluation& result) {
  evaluations_.append(
      fmt::format("{},{},{},{},{}", step, epoch, result.samples, result.loss, result.accuracy));
  log_.info(fmt::format("evaluation after step {}: accuracy {:.2f} %, loss {:.4f} on {} samples", step,
                        100 * result.accuracy, result.loss, result.samples));
}

void Records::event(std::int64_t step, std::string_view name, std::string_view detail) {
  std::string text(detail);
  for (char& c : text) {
    if (c == ',' || c == '\n') c = ';';
  }
  events_.append(fmt::format("{},{:.3f},{},{}", step, wall_seconds(), name, text));
}

void Records::sync() {
  metrics_.sync();
  evaluations_.sync();
}

}  // namespace lockstep::train
