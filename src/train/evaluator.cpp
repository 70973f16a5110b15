#include "train/evaluator.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <vector>

#include "comm/tree.h"
#include "data/eval_reader.h"
#include "slurm/stop_signals.h"

namespace lockstep::train {

namespace {

// Micro-batches per rank between two looks at the stop requests: well below a second of work.
constexpr std::int64_t round_length = 8;
constexpr std::chrono::milliseconds look_up{100};

struct Part {
  std::int64_t first;
  std::int64_t last;
};

Part part_of(int rank, int size, std::int64_t batches) {
  return {batches * rank / size, batches * (rank + 1) / size};
}

}  // namespace

std::optional<Evaluation> evaluate(Learner& learner, const data::Dataset& dataset, std::int64_t micro_batch,
                                   comm::Group& comm, const std::function<bool()>& deadline_near,
                                   StopVotes& votes) {
  const std::int64_t batches = data::evaluation_batches(dataset, micro_batch);
  const Part mine = part_of(comm.rank(), comm.size(), batches);
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(mine.last - mine.first));
  std::iota(numbers.begin(), numbers.end(), mine.first);
  data::EvalReader reader(dataset, micro_batch, numbers);

  // One slot per micro-batch, filled by its owner only: adding zeros changes nothing, and the sum below has
  // the same order whoever filled them.
  const auto count = static_cast<std::size_t>(batches);
  std::vector<double> slots(2 * count, 0.0);
  const std::int64_t longest = (batches + comm.size() - 1) / comm.size();
  std::int64_t next = mine.first;
  for (std::int64_t done = 0; done < longest; done += round_length) {
    const std::int64_t end = std::min(mine.last, next + round_length);
    while (next < end && slurm::received_stop_signal() == 0) {
      auto batch = reader.next(look_up);
      if (!batch) continue;
      const device::LossSum result = learner.evaluate(*batch);
      slots[static_cast<std::size_t>(next)] = result.loss;
      slots[count + static_cast<std::size_t>(next)] = static_cast<double>(result.correct);
      reader.recycle(std::move(*batch));
      ++next;
    }
    votes = agreed_votes(comm, deadline_near());
    if (any(votes)) return std::nullopt;
  }
  comm.all_reduce_sum(std::span<double>(slots));
  const auto samples = static_cast<double>(dataset.size());
  Evaluation result{comm::tree_sum(std::span(slots).first(count)) / samples, std::nullopt, dataset.size()};
  if (learner.counts_correct()) result.accuracy = comm::tree_sum(std::span(slots).subspan(count)) / samples;
  return result;
}

}  // namespace lockstep::train
