#include "data/prefetcher.h"

#include <algorithm>
#include <utility>

namespace lockstep::data {

Prefetcher::Prefetcher(Fill fill, std::size_t depth)
    : fill_(std::move(fill)),
      depth_(std::max<std::size_t>(1, depth)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void Prefetcher::run(const std::stop_token& stop) {
  try {
    while (!stop.stop_requested()) {
      Batch batch;
      {
        std::unique_lock lock(mutex_);
        if (!changed_.wait(lock, stop, [this] { return ready_.size() < depth_; })) return;
        if (!spare_.empty()) {
          batch = std::move(spare_.back());
          spare_.pop_back();
        }
      }
      const bool more = fill_(batch, stop);
      if (stop.stop_requested()) return;
      const std::lock_guard lock(mutex_);
      if (more) {
        ready_.push_back(std::move(batch));
      } else {
        ended_ = true;
      }
      changed_.notify_all();
      if (!more) return;
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    error_ = std::current_exception();
    changed_.notify_all();
  }
}

std::optional<Batch> Prefetcher::next(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, limit, [this] { return !ready_.empty() || ended_ || error_; });
  if (!ready_.empty()) {
    Batch batch = std::move(ready_.front());
    ready_.pop_front();
    changed_.notify_all();
    return batch;
  }
  if (error_) std::rethrow_exception(error_);
  return std::nullopt;
}

void Prefetcher::recycle(Batch&& batch) {
  const std::lock_guard lock(mutex_);
  spare_.push_back(std::move(batch));
}

bool Prefetcher::finished() const {
  const std::lock_guard lock(mutex_);
  return ended_ && ready_.empty();
}

}  // namespace lockstep::data
