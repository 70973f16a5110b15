#include "nn/flatten.h"

namespace lockstep::nn {

Variable flatten(Tape& tape, const Variable& x) {
  const device::Shape& in = x.value.shape();
  const device::Shape channels_first{in[0], in[3], in[1], in[2]};
  const device::Tensor y = tape.device().empty(channels_first, x.value.dtype());
  tape.device().nhwc_to_nchw(x.value, y);
  return tape.record(y.reshaped({in[0], in[1] * in[2] * in[3]}), x.needs_gradient(), {},
                     [x, channels_first](Tape& t, const device::Tensor& dy) {
                       const device::Tensor dx = t.device().empty(x.value.shape(), x.value.dtype());
                       t.device().nchw_to_nhwc(dy.reshaped(channels_first), dx);
                       t.add_gradient(x, dx);
                     });
}

}  // namespace lockstep::nn
