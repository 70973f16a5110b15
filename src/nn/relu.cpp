#include "nn/relu.h"

namespace lockstep::nn {

Variable relu(Tape& tape, const Variable& x) {
  const device::Tensor y = tape.device().empty(x.value.shape(), x.value.dtype());
  tape.device().relu_forward(x.value, y);
  return tape.record(y, x.needs_gradient(), {}, [x, y](Tape& t, const device::Tensor& dy) {
    t.device().relu_backward(dy, y, dy);
    t.add_gradient(x, dy);
  });
}

}  // namespace lockstep::nn
