// Loss and accuracy on the whole test split, the same for any number of ranks (contracts C2, C3).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "comm/group.h"
#include "data/dataset.h"
#include "train/learner.h"
#include "train/stop.h"

namespace lockstep::train {

struct Evaluation {
  double loss = 0;                 // mean over the samples
  std::optional<double> accuracy;  // none where the targets are numbers
  std::int64_t samples = 0;
};

// Each rank takes a contiguous part of the split's micro-batches; the results are added in one fixed order.
// Collective. Every few micro-batches the ranks look whether to stop: then `votes` tells why and there is no
// result.
std::optional<Evaluation> evaluate(Learner& learner, const data::Dataset& dataset, std::int64_t micro_batch,
                                   comm::Group& comm, const std::function<bool()>& deadline_near,
                                   StopVotes& votes);

}  // namespace lockstep::train
