#include "nn/subsample.h"

namespace lockstep::nn {

Variable subsample(Tape& tape, const Variable& x, std::int64_t stride, std::int64_t channels) {
  const device::Shape& in = x.value.shape();
  const device::Tensor y = tape.device().empty(
      {in[0], (in[1] + stride - 1) / stride, (in[2] + stride - 1) / stride, channels}, x.value.dtype());
  tape.device().subsample_forward(x.value, stride, y);
  return tape.record(y, x.needs_gradient(), {}, [x, stride](Tape& t, const device::Tensor& dy) {
    const device::Tensor dx = t.device().empty(x.value.shape(), x.value.dtype());
    t.device().subsample_backward(dy, stride, dx);
    t.add_gradient(x, dx);
  });
}

}  // namespace lockstep::nn
