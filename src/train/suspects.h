// Which samples made a step bad: found on the rank that has them, told to all.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "comm/group.h"
#include "data/batch.h"
#include "train/guard.h"
#include "train/learner.h"

namespace lockstep::train {

// At most so many are listed for a step.
inline constexpr std::size_t most_suspects = 16;

// Of one size, so that lists of them go through an all-gather as they are.
struct Suspect {
  std::int64_t lane = 0;
  std::int64_t place = 0;   // in the micro-batch
  std::int64_t sample = 0;  // global id
  double loss = 0;          // of this sample
  double input = 0;         // the largest, where that is what makes it a suspect; else 0
};

// A micro-batch of this rank in the present step.
struct TakenBatch {
  data::Batch batch;
  double loss = 0;  // mean over its samples
};

struct Suspects {
  // Worst first: losses that are not finite, then the highest; or the largest inputs.
  std::vector<Suspect> worst;
  std::int64_t not_finite = 0;  // of all samples, not only of those that are listed
};

// By what a step showed that it is bad.
enum class Sign { loss, gradient, statistics };

// This rank's samples, in the micro-batches that stand out: by their loss or, as `sign` says, by a gradient
// or by statistics of a batch normalisation that are not finite, which are computed again for each. A
// variance tells nothing of single samples, and the losses are finite: to blame are those whose largest input
// is far above that of most others of the micro-batch, if there are any. Overwrites the gradients.
// `steps_done` as for Learner::train.
Suspects find_suspects(Learner& learner, std::span<const TakenBatch> batches, const Guard& guard, Sign sign,
                       std::int64_t steps_done);

// The largest absolute input of each sample that has one far above what is usual in its micro-batch; 0 for
// the others.
std::vector<double> outlying_inputs(const data::Batch& batch);

// One list for several: the samples whose loss is not finite or, where there are none, those that come near
// the worst one. The same whatever the lists' order and whichever samples each has.
Suspects merged(std::span<const Suspects> lists);

// Of all ranks, the same on every rank. Collective.
Suspects gather_suspects(comm::Group& comm, const Suspects& mine);

}  // namespace lockstep::train
