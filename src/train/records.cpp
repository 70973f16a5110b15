#include "train/records.h"

#include <fmt/format.h>

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/files.h"
#include "core/text.h"
#include "train/event_log.h"
#include "train/state_hash.h"

namespace lockstep::train {

namespace {

// Empty where there is no number.
std::string field(const std::optional<double>& number) {
  return number ? csv_field(*number) : "";
}

constexpr std::string_view gpu_columns =
    "gpu_utilisation,gpu_memory,gpu_clock,gpu_power,gpu_temperature,gpu_throttled";

checkpoint::Fence fence_of(const RunFolder& folder, const Attempt& attempt) {
  return [folder, attempt] { folder.fence(attempt); };
}

// Of a curve in TensorBoard, which shows a thousand: more would only fill the disk.
constexpr std::int64_t most_points = 20000;

}  // namespace

// Numbers that must be byte-equal between runs are written with `{}` or csv_field(): the shortest text that
// reads back exactly.
Records::Records(const RunFolder& folder, const Log& log, StatusBoard& board, Hook& hook,
                 const Config& config, const Attempt& attempt, std::int64_t step, std::int64_t evaluated,
                 bool log_hash, device::GpuMonitor* gpu)
    : log_(log),
      board_(board),
      hook_(hook),
      log_every_(config.run.log_every),
      total_steps_(config.train.steps),
      tensorboard_every_(std::max<std::int64_t>(1, total_steps_ / most_points)),
      metrics_(folder.metrics(), "step,epoch,samples,loss,accuracy,learning_rate,gradient_norm", step,
               fence_of(folder, attempt)),
      timings_(folder.timings(), "step,seconds,data_seconds,compute_seconds,communication_seconds", step,
               fence_of(folder, attempt), MoreColumns{gpu_columns, gpu != nullptr}),
      evaluations_(folder.evaluations(), "step,epoch,samples,loss,accuracy", evaluated,
                   fence_of(folder, attempt)),
      anomalies_(folder.anomalies(), "step,lane,sample,file,row,loss", step, fence_of(folder, attempt)),
      waited_(waiting_text(read_text(folder.events()).value_or(""), wall_seconds())),
      // The history of attempts stays whole: nothing in it is undone by a resume.
      events_(folder.events(), event_header, std::numeric_limits<std::int64_t>::max(),
              fence_of(folder, attempt)),
      gpu_(gpu) {
  // One that an earlier attempt has left must not keep rows of steps that come again.
  if (log_hash || std::filesystem::exists(folder.hashes())) {
    hashes_.emplace(folder.hashes(), "step,hash", step, fence_of(folder, attempt));
  }
  if (config.run.tensorboard) {
    tensorboard_.emplace(folder.tensorboard(), fmt::format("{}.{}", attempt.node, attempt.token()), step,
                         [&log](const std::string& text) { log.warn(text); });
  }
}

void Records::step(std::int64_t step, std::int64_t epoch, std::int64_t samples, const StepReport& report) {
  tell_of_waiting(metrics_.append(fmt::format("{},{},{},{},{},{},{}", step, epoch, samples,
                                              csv_field(report.loss), field(report.accuracy),
                                              report.learning_rate, csv_field(report.gradient_norm))));
  const bool log_due = step % log_every_ == 0 || step == total_steps_;
  timings_.append(fmt::format("{},{:.6f},{:.6f},{:.6f},{:.6f}{}", step, report.seconds, report.data_seconds,
                              report.compute_seconds, report.communication_seconds,
                              log_due ? gpu_fields(step) : ""));
  interval_.steps += 1;
  interval_.samples += report.samples;
  interval_.seconds += report.seconds;
  interval_.data_seconds += report.data_seconds;
  interval_.communication_seconds += report.communication_seconds;
  if (tensorboard_ && (step % tensorboard_every_ == 0 || step == total_steps_)) {
    const auto samples_per_second = static_cast<double>(report.samples) / std::max(report.seconds, 1e-9);
    std::vector<Scalar> scalars{{"train/loss", report.loss},
                                {"train/learning_rate", report.learning_rate},
                                {"train/gradient_norm", report.gradient_norm},
                                {"time/step_seconds", report.seconds},
                                {"time/data_seconds", report.data_seconds},
                                {"time/samples_per_second", samples_per_second}};
    if (report.accuracy) scalars.push_back({"train/accuracy", *report.accuracy});
    if (report.loss_scale) scalars.push_back({"train/loss_scale", *report.loss_scale});
    tensorboard_->add(step, scalars);
  }
  board_.update([&](Status& status) {
    status.step = step;
    status.epoch = epoch;
    status.loss = report.loss;
    status.learning_rate = report.learning_rate;
    status.samples_per_second = interval_.samples_per_second();
    status.seconds_left = static_cast<double>(total_steps_ - step) * interval_.seconds_per_step();
  });
  if (log_due) progress(step, epoch, report);
}

std::string Records::gpu_fields(std::int64_t step) {
  if (gpu_ == nullptr) return {};
  const device::GpuReading reading = gpu_->take().value_or(device::GpuReading());
  const std::string throttled = device::throttle_text(reading.throttle_reasons);
  board_.update([&](Status& status) {
    status.gpu_utilisation = reading.utilisation;
    status.gpu_memory = reading.memory;
    status.gpu_clock = reading.clock;
    status.gpu_power = reading.power;
    status.gpu_temperature = reading.temperature;
    status.gpu_throttled = throttled;
  });
  if (tensorboard_) {
    std::vector<Scalar> scalars;
    const auto add = [&scalars](const char* name, const std::optional<double>& value) {
      if (value) scalars.push_back({name, *value});
    };
    add("gpu/utilisation", reading.utilisation);
    add("gpu/memory", reading.memory);
    add("gpu/clock", reading.clock);
    add("gpu/power", reading.power);
    add("gpu/temperature", reading.temperature);
    if (!scalars.empty()) tensorboard_->add(step, scalars);
  }
  const auto rounded = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.0f}", *value) : "";
  };
  return fmt::format(",{},{},{},{},{},{}", rounded(reading.utilisation), rounded(reading.memory),
                     rounded(reading.clock), rounded(reading.power), rounded(reading.temperature),
                     csv_field(throttled));
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
  const double left = static_cast<double>(total_steps_ - step) * interval_.seconds_per_step();
  log_.info(
      fmt::format("step {}/{}  epoch {}  loss {:.4f}  lr {:.4g}  {:.0f} samples/s  data wait {:.0f} %  "
                  "communication {:.0f} %  ETA {}",
                  step, total_steps_, epoch, report.loss, report.learning_rate,
                  interval_.samples_per_second(), 100 * interval_.data_seconds / seconds,
                  100 * interval_.communication_seconds / seconds, human_seconds(left)));
  interval_ = {};
  if (tensorboard_) tensorboard_->flush();
}

void Records::hash(std::int64_t step, std::uint64_t hash) {
  hashes_->append(fmt::format("{},{}", step, hash_text(hash)));
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
  if (hashes_) hashes_->replace_after(step, {});
  if (tensorboard_) tensorboard_->go_back_to(step);
}

void Records::evaluation(std::int64_t step, std::int64_t epoch, const Evaluation& result) {
  evaluations_.append(fmt::format("{},{},{},{},{}", step, epoch, result.samples, csv_field(result.loss),
                                  field(result.accuracy)));
  const std::string accuracy =
      result.accuracy ? fmt::format("accuracy {:.2f} %, ", 100 * *result.accuracy) : "";
  log_.info(fmt::format("evaluation after step {}: {}loss {:.4f} on {} samples", step, accuracy, result.loss,
                        result.samples));
  if (tensorboard_) {
    std::vector<Scalar> scalars{{"eval/loss", result.loss}};
    if (result.accuracy) scalars.push_back({"eval/accuracy", *result.accuracy});
    tensorboard_->add(step, scalars);
    tensorboard_->flush();
  }
  board_.update([&](Status& status) {
    status.evaluation_step = step;
    status.evaluation_loss = result.loss;
    status.evaluation_accuracy = result.accuracy;
  });
}

void Records::checkpoint(std::int64_t step, std::string_view file, std::int64_t bytes, double seconds) {
  event(step, "saved", fmt::format("{}; {} bytes; {:.3f} s", file, bytes, seconds));
  if (tensorboard_) tensorboard_->flush();
  board_.update([&](Status& status) {
    status.checkpoint_step = step;
    status.checkpoint_time = wall_seconds();
  });
}

void Records::event(std::int64_t step, std::string_view name, std::string_view detail) {
  events_.append(event_row(step, name, detail));
  hook_.tell(name, step, detail);
}

void Records::sync() {
  metrics_.sync();
  evaluations_.sync();
  anomalies_.sync();
  if (hashes_) hashes_->sync();
}

}  // namespace lockstep::train
