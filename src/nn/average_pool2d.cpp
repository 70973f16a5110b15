#include "nn/average_pool2d.h"

namespace lockstep::nn {

Variable average_pool2d(Tape& tape, const Variable& x) {
  const device::Tensor y = tape.device().empty({x.value.shape()[0], x.value.shape()[3]}, x.value.dtype());
  tape.device().average_pool_forward(x.value, y);
  return tape.record(y, x.needs_gradient(), {}, [x](Tape& t, const device::Tensor& dy) {
    const device::Tensor dx = t.device().empty(x.value.shape(), x.value.dtype());
    t.device().average_pool_backward(dy, dx);
    t.add_gradient(x, dx);
  });
}

}  // namespace lockstep::nn
