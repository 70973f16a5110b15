// What a live run says about itself: the file RUN/status, which rank 0 writes anew every few seconds and
// `lockstep status` reads (docs/run-folder.md).
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep::train {

struct Status {
  std::string job;
  std::int64_t restart = 0;
  std::string node;  // of rank 0
  std::int64_t ranks = 0;
  std::string phase;  // "step 12", "the checkpoint of step 12"
  std::int64_t step = 0;
  std::int64_t total = 0;
  std::int64_t epoch = 0;
  // Of the newest step of this attempt; absent before it.
  std::optional<double> loss;
  std::optional<double> learning_rate;
  std::optional<double> samples_per_second;  // since the last progress line
  std::optional<double> seconds_left;        // of training at this speed
  // The newest checkpoint and evaluation; times in seconds since 1970.
  std::optional<std::int64_t> checkpoint_step;
  std::optional<double> checkpoint_time;
  std::optional<std::int64_t> evaluation_step;
  std::optional<double> evaluation_loss;
  std::optional<double> evaluation_accuracy;
  // Of rank 0's GPU, over the time since the last progress line; absent without one, or where its driver does
  // not tell. Percent, bytes, MHz, watts, degrees Celsius.
  std::optional<double> gpu_utilisation;
  std::optional<double> gpu_memory;
  std::optional<double> gpu_clock;
  std::optional<double> gpu_power;
  std::optional<double> gpu_temperature;
  std::string gpu_throttled;       // what holds its clock down
  std::string stragglers;          // ranks that are slow now, and in what
  std::optional<double> end_time;  // of the job
  double written = 0;
};

std::string to_text(const Status& status);

// Reads any bytes: lines that mean nothing are passed over, numbers that are none are absent or 0.
Status parse_status(std::string_view text);

// The members of a JSON object, without its braces; null for what is absent.
std::string json_members(const Status& status);

// Where the training thread leaves what it knows and the heartbeat's thread takes it.
class StatusBoard {
 public:
  // `change` gets the status and alters it; it must not wait for anything.
  template <typename Change>
  void update(Change&& change) {
    const std::lock_guard guard(mutex_);
    change(status_);
  }
  Status read() const {
    const std::lock_guard guard(mutex_);
    return status_;
  }

 private:
  mutable std::mutex mutex_;
  Status status_;
};

}  // namespace lockstep::train
