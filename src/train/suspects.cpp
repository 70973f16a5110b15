#include "train/suspects.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tuple>

namespace lockstep::train {

namespace {

// What a rank sends.
struct Message {
  std::int64_t listed = 0;
  std::int64_t not_finite = 0;
  std::array<Suspect, most_suspects> worst{};
};

// In one step a loss of less than a tenth of the worst one is not what the step suffers from.
constexpr double far_below = 0.1;

// Nor is an input that is not ten times as large as that of most samples.
constexpr double far_above = 10;

double badness(const Suspect& suspect) {
  if (suspect.input > 0) return suspect.input;
  return std::isfinite(suspect.loss) ? suspect.loss : std::numeric_limits<double>::infinity();
}

auto order(const Suspect& suspect) {
  return std::tuple(-badness(suspect), suspect.lane, suspect.place);
}

bool gradient_is_bad(Learner& learner, const data::Batch& batch, std::int64_t steps_done) {
  learner.train(batch, steps_done, false);
  return !Guard::fault_of_gradient(learner.gradient_norm(1)).empty();
}

bool statistics_are_bad(Learner& learner, const data::Batch& batch, std::int64_t steps_done) {
  const Trained trained = learner.train(batch, steps_done, false);
  std::vector<float> statistics(static_cast<std::size_t>(learner.statistic_count()));
  learner.read_statistics(trained, statistics);
  return !std::all_of(statistics.begin(), statistics.end(), [](float x) { return std::isfinite(x); });
}

bool is_bad(Learner& learner, const TakenBatch& taken, const Guard& guard, Sign sign,
            std::int64_t steps_done) {
  if (sign == Sign::loss) return guard.stands_out(taken.loss);
  if (sign == Sign::gradient) return gradient_is_bad(learner, taken.batch, steps_done);
  return statistics_are_bad(learner, taken.batch, steps_done);
}

// As they were in training; but where batch normalisation has spread one sample's NaN to all of them, as in
// an evaluation, which takes each by itself.
std::vector<double> losses_of(Learner& learner, const data::Batch& batch, std::int64_t steps_done) {
  auto losses = learner.sample_losses(batch, steps_done, true);
  const bool any_finite =
      std::any_of(losses.begin(), losses.end(), [](double x) { return std::isfinite(x); });
  return any_finite ? losses : learner.sample_losses(batch, steps_done, false);
}

}  // namespace

std::vector<double> outlying_inputs(const data::Batch& batch) {
  const auto samples = static_cast<std::size_t>(batch.size);
  const std::size_t width = batch.x.size() / samples;
  std::vector<double> largest(samples, 0.0);
  for (std::size_t i = 0; i < samples * width; ++i) {
    largest[i / width] = std::max(largest[i / width], std::abs(static_cast<double>(batch.x[i])));
  }
  auto sorted = largest;
  std::sort(sorted.begin(), sorted.end());
  const double usual = sorted[(samples - 1) / 2];
  for (double& value : largest) {
    if (!(value > far_above * usual)) value = 0;
  }
  return largest;
}

namespace {

void cut_to_worst(std::vector<Suspect>& suspects) {
  std::sort(suspects.begin(), suspects.end(),
            [](const Suspect& a, const Suspect& b) { return order(a) < order(b); });
  if (suspects.size() > most_suspects) suspects.resize(most_suspects);
}

}  // namespace

Suspects find_suspects(Learner& learner, std::span<const TakenBatch> batches, const Guard& guard, Sign sign,
                       std::int64_t steps_done) {
  Suspects found;
  for (const TakenBatch& taken : batches) {
    const data::Batch& batch = taken.batch;
    if (batch.size == 0) continue;
    if (!is_bad(learner, taken, guard, sign, steps_done)) continue;
    const auto losses = losses_of(learner, batch, steps_done);
    const bool by_input = sign == Sign::statistics;
    const auto inputs = by_input ? outlying_inputs(batch) : std::vector<double>(losses.size(), 0.0);
    for (std::size_t place = 0; place < losses.size(); ++place) {
      if (by_input && inputs[place] == 0) continue;
      found.worst.push_back(
          {batch.lane, static_cast<std::int64_t>(place), batch.ids[place], losses[place], inputs[place]});
      if (!std::isfinite(losses[place])) ++found.not_finite;
    }
    cut_to_worst(found.worst);
  }
  return found;
}

Suspects merged(std::span<const Suspects> lists) {
  Suspects all;
  for (const Suspects& list : lists) {
    all.worst.insert(all.worst.end(), list.worst.begin(), list.worst.end());
    all.not_finite += list.not_finite;
  }
  cut_to_worst(all.worst);
  if (all.worst.empty()) return all;
  const double least = far_below * badness(all.worst.front());
  std::erase_if(all.worst, [&](const Suspect& suspect) { return badness(suspect) < least; });
  return all;
}

Suspects gather_suspects(comm::Group& comm, const Suspects& mine) {
  Message message{static_cast<std::int64_t>(mine.worst.size()), mine.not_finite, {}};
  std::copy(mine.worst.begin(), mine.worst.end(), message.worst.begin());
  std::vector<Suspects> lists;
  for (const Message& each : comm::gather_values(comm, message)) {
    lists.push_back({{each.worst.begin(), each.worst.begin() + each.listed}, each.not_finite});
  }
  return merged(lists);
}

}  // namespace lockstep::train
