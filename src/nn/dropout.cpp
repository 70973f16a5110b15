#include "nn/dropout.h"

namespace lockstep::nn {

Variable dropout(Tape& tape, const Variable& x, double probability) {
  // Counted even where nothing is dropped: the random numbers of later layers do not move with this one's
  // setting.
  const std::int64_t layer = tape.next_dropout_layer();
  if (!tape.training() || probability == 0.) return x;
  const device::Tensor y = tape.device().empty(x.value.shape(), x.value.dtype());
  const device::Tensor mask = tape.device().empty(x.value.shape(), device::DType::u8);
  const ForwardContext& context = tape.context();
  tape.device().dropout_forward(x.value, {context.seed, context.step, layer, probability}, context.sample_ids,
                                y, mask);
  return tape.record(y, x.needs_gradient(), {}, [x, mask, probability](Tape& t, const device::Tensor& dy) {
    t.device().dropout_backward(dy, mask, probability, dy);
    t.add_gradient(x, dy);
  });
}

}  // namespace lockstep::nn
