// Where in the sample order a step lies (contract C1): a pure function of the step and of where the present
// order began. The world size does not enter.
#pragma once

#include <cstdint>

#include "data/position.h"

namespace lockstep::train {

// Where the present order of samples began: step 0 of epoch 0, unless a --fork changed the data or the
// batches.
struct Origin {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
};

// The place of the step that follows `steps_done` optimizer steps; steps_done >= origin.step.
inline data::Position position_after(std::int64_t steps_done, const Origin& origin,
                                     std::int64_t steps_per_epoch) {
  const std::int64_t since = steps_done - origin.step;
  return {origin.epoch + since / steps_per_epoch, since % steps_per_epoch};
}

}  // namespace lockstep::train
