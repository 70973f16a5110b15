#include "train/batches_ahead.h"

#include <utility>

namespace lockstep::train {

namespace {

constexpr std::size_t most_ahead = 2;

}  // namespace

std::optional<BatchesAhead::SentBatch> BatchesAhead::next(std::chrono::milliseconds limit) {
  if (sent_.empty()) return take(limit);
  SentBatch first = std::move(sent_.front());
  sent_.pop_front();
  return first;
}

void BatchesAhead::fill() {
  if (!learner_.device().copies_beside()) return;
  while (sent_.size() < most_ahead) {
    auto ready = take(std::chrono::milliseconds(0));
    if (!ready) return;
    sent_.push_back(std::move(*ready));
  }
}

std::optional<BatchesAhead::SentBatch> BatchesAhead::take(std::chrono::milliseconds limit) {
  auto batch = loader_.next(limit);
  if (!batch) return std::nullopt;
  SentBatch taken{std::move(*batch), {}};
  if (taken.batch.size > 0) taken.sent = learner_.send(taken.batch);
  return taken;
}

}  // namespace lockstep::train
