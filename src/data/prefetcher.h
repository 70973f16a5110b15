// One background thread that fills a bounded queue of batches.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "data/batch.h"

namespace lockstep::data {

class Prefetcher {
 public:
  // Makes the next batch in the given one, whose buffers may be large enough already. Returns false when
  // there are no more. Runs on the background thread alone; returns soon, with anything, once stop is
  // requested.
  using Fill = std::function<bool(Batch&, std::stop_token)>;

  Prefetcher(Fill fill, std::size_t depth);  // starts at once; keeps at most `depth` batches ready
  ~Prefetcher() = default;                   // stops the thread and joins it
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  // The next batch, or nothing where none became ready in time or all have been taken (see finished()). An
  // error of the thread is thrown here after the batches before it.
  std::optional<Batch> next(std::chrono::milliseconds limit);

  // Gives buffers back, all of them at once after a step, so that in the steady state nothing is allocated:
  // there are never more than were in use at one time.
  void recycle(Batch&& batch);

  // All batches have been taken.
  bool finished() const;

 private:
  void run(const std::stop_token& stop);

  Fill fill_;
  const std::size_t depth_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Batch> ready_;
  std::vector<Batch> spare_;
  bool ended_ = false;
  std::exception_ptr error_;
  std::jthread thread_;  // last: it starts when all else exists, and is joined before any of it goes
};

}  // namespace lockstep::data
