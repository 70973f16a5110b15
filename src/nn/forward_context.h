// What a forward pass may depend on besides its input and the parameters.
#pragma once

#include <cstdint>
#include <span>

namespace lockstep::nn {

struct ForwardContext {
  bool training = false;                     // record for backward; dropout is active
  std::uint64_t seed = 0;                    // the run's seed
  std::int64_t step = 0;                     // optimizer step
  std::span<const std::int64_t> sample_ids;  // one per row of the micro-batch; outlives the forward pass
  float loss_scale = 1.f;                    // times the gradients: keeps those of f16 from vanishing
};

}  // namespace lockstep::nn
