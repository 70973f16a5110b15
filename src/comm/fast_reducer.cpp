#include "comm/fast_reducer.h"

namespace lockstep::comm {

FastReducer::FastReducer(Communicator& comm, device::Device& device, const device::Tensor& gradient,
                         std::span<const Slice> parameters, const ReducerOptions& options)
    : Reducer(comm, device, gradient, parameters, options), gradient_(gradient) {
  if (options.wire != device::DType::f32 && comm_.size() > 1) {
    rounded_ = device_.empty(gradient_.shape(), options.wire);
  }
  comm_.announce(rounded_ ? rounded_ : gradient_);
}

void FastReducer::prepare(std::span<const std::uint8_t>) {
  sums_.clear();
  empty_ = true;
}

Reducer::Place FastReducer::open(int, bool) {
  const bool accumulate = !empty_;
  empty_ = false;
  return {gradient_, accumulate};
}

void FastReducer::give_up() {
  empty_ = true;
}

void FastReducer::start(std::size_t bucket) {
  const Slice& at = plan_.buckets()[bucket];
  const device::Tensor part = on_wire(at);
  if (empty_) {
    device_.fill(0.f, part);
  } else if (rounded_) {
    device_.cast(gradient_.slice(at.first, {at.count}), part);
  }
  if (comm_.size() > 1) sums_.push_back(comm_.all_reduce(part));
}

device::Tensor FastReducer::complete() {
  for (std::size_t bucket = 0; bucket < sums_.size(); ++bucket) {
    wait(sums_[bucket]);
    if (!rounded_) continue;
    const Slice& at = plan_.buckets()[bucket];
    device_.cast(on_wire(at), gradient_.slice(at.first, {at.count}));
  }
  return gradient_;
}

device::Tensor FastReducer::on_wire(const Slice& bucket) const {
  return (rounded_ ? rounded_ : gradient_).slice(bucket.first, {bucket.count});
}

}  // namespace lockstep::comm
