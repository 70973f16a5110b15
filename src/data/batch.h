// What the loader hands to the trainer: one micro-batch of one lane.
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep::data {

struct Batch {
  std::vector<float> x;           // [size, sample shape...], normalised
  std::vector<std::int32_t> y;    // [size], each in [0, classes); empty where the targets are numbers
  std::vector<float> targets;     // [size, target width] where they are (regression), else empty
  std::vector<std::int64_t> ids;  // [size], global sample ids
  std::int64_t size = 0;          // 0 where the lane has no sample in this step
  std::int64_t epoch = 0;
  std::int64_t step_in_epoch = 0;  // for evaluation: the number of the micro-batch
  std::int64_t lane = 0;
};

}  // namespace lockstep::data
