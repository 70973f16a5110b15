// Where in the order of samples a step lies (contract C1).
#pragma once

#include <cstdint>

namespace lockstep::data {

struct Position {
  std::int64_t epoch = 0;
  std::int64_t step_in_epoch = 0;  // == steps per epoch means the start of the next epoch
};

}  // namespace lockstep::data
