#include "train/records.h"

#include <fmt/format.h>

#include <limits>
#include <optional>
#include <string>

#include "core/clock.h"
#include "core/text.h"

namespace lockstep::train {

namespace {

// Empty where there is no number.
std::string field(const std::optional<double>& number) {
  return number ? csv_field(*number) : "";
}

}  // namespace

// Numbers that must be byte-equal between runs are written with `{}` or csv_field(): the shortest text that
// reads back exactly.
Records::Records(const RunFolder& folder, const Log& log, std::int64_t step, std::int64_t evaluated,
                 std::int64_t log_every, std::int64_t total_steps)
    : log_(log),
      log_every_(log_every),
      total_steps_(total_steps),
      metrics_(folder.metrics(), "step,epoch,samples,loss,accuracy,learning_rate,gradient_norm", step),
      timings_(folder.timings(), "step,seconds,data_seconds,compute_seconds,communication_seconds", step),
      evaluations_(folder.evaluations(), "step,epoch,samples,loss,accuracy", evaluated),
      anomalies_(folder.anomalies(), "step,lane,sample,file,row,loss", step),
      // The history of attempts stays whole: nothing in it is undone by a resume.
      events_(folder.events(), "step,time,event,detail", std::numeric_limits<std::int64_t>::max()) {}

void Records::step(std::int64_t step, std::int64_t epoch, std::int64_t samples, const StepReport& report) {
  metrics_.append(fmt::format("{},{},{},{},{},{},{}", step, epoch, samples, csv_field(report.loss),
                              field(report.accuracy), report.learning_rate, csv_field(report.gradient_norm)));
  timings_.append(fmt::format("{},{:.6f},{:.6f},{:.6f},{:.6f}", step, report.seconds, report.data_seconds,
                              report.compute_seconds, report.communication_seconds));
  interval_.steps += 1;
  interval_.samples += report.samples;
  interval_.seconds += report.seconds;
  interval_.data_seconds += report.data_seconds;
  interval_.communication_seconds += report.communication_seconds;
  if (step % log_every_ == 0 || step == total_steps_) progress(step, epoch, report);
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

void Records::suspects(std::int64_t step, std::span<const Suspect> suspects, const data::Dataset& dataset) {
  for (const Suspect& suspect : suspects) {
    const data::Shard& shard = dataset.shard_of(suspect.sample);
    anomalies_.append(fmt::format("{},{},{},{},{},{}", step, suspect.lane, suspect.sample,
                                  csv_field(shard.file.filename().string()), suspect.sample - shard.first_id,
                                  csv_field(suspect.loss)));
  }
}

void Records::roll_back(std::int64_t step, std::int64_t evaluated, std::span<const PassedOver> passed_over) {
  std::vector<std::string> rows;
  for (const PassedOver& row : passed_over) {
    rows.push_back(fmt::format("{},{},{},,,{},", row.step, row.epoch, row.samples, row.learning_rate));
  }
  metrics_.replace_after(step, rows);
  timings_.replace_after(step, {});
  evaluations_.replace_after(evaluated, {});
}

void Records::evaluation(std::int64_t step, std::int64_t epoch, const Evaluation& result) {
  evaluations_.append(fmt::format("{},{},{},{},{}", step, epoch, result.samples, csv_field(result.loss),
                                  field(result.accuracy)));
  const std::string accuracy =
      result.accuracy ? fmt::format("accuracy {:.2f} %, ", 100 * *result.accuracy) : "";
  log_.info(fmt::format("evaluation after step {}: {}loss {:.4f} on {} samples", step, accuracy, result.loss,
                        result.samples));
}

void Records::event(std::int64_t step, std::string_view name, std::string_view detail) {
  events_.append(fmt::format("{},{:.3f},{},{}", step, wall_seconds(), name, csv_field(detail)));
}

void Records::sync() {
  metrics_.sync();
  evaluations_.sync();
  anomalies_.sync();
}

}  // namespace lockstep::train
