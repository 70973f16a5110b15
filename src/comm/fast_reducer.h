// The reducer behind ReduceMode::fast: gradients accumulate over the rank's lanes in one buffer, of which
// each bucket goes through the communicator's all-reduce: itself, or rounded to 16 bits in a buffer of its
// own.
#pragma once

#include <vector>

#include "comm/reducer.h"

namespace lockstep::comm {

class FastReducer final : public Reducer {
 public:
  FastReducer(Communicator& comm, device::Device& device, const device::Tensor& gradient,
              std::span<const Slice> parameters, const ReducerOptions& options);

 private:
  void prepare(std::span<const std::uint8_t> present) override;
  Place open(int lane, bool last) override;
  void close() override {}
  void give_up() override;
  void start(std::size_t bucket) override;
  device::Tensor complete() override;

  device::Tensor on_wire(const Slice& bucket) const;

  device::Tensor gradient_;
  device::Tensor rounded_;  // as large; empty where the gradient itself travels
  bool empty_ = true;       // no lane has brought anything
  std::vector<Pending> sums_;
};

}  // namespace lockstep::comm
