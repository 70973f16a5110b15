#include "nn/max_pool2d.h"

#include <fmt/format.h>

#include "core/error.h"

namespace lockstep::nn {

Variable max_pool2d(Tape& tape, const Variable& x, const device::PoolWindow& window,
                    device::Activation activation) {
  const device::Shape& in = x.value.shape();
  if (in.rank() != 4 || device::window_output(in[1], window) < 1 ||
      device::window_output(in[2], window) < 1) {
    throw Error(ExitCode::bad_config,
                fmt::format("max-pooling over {} x {} cannot run on {}, wanted images [n, h, w, "
                            "channels] of at least that size: use fewer layers",
                            window.size, window.size, in.text()));
  }
  const device::Shape pooled{in[0], device::window_output(in[1], window),
                             device::window_output(in[2], window), in[3]};
  const device::Tensor y = tape.device().empty(pooled, x.value.dtype());
  const device::Tensor index = tape.device().empty(pooled, device::DType::u8);
  tape.device().max_pool_forward(x.value, window, activation, y, index);
  return tape.record(y, x.needs_gradient(), {}, [x, index, window](Tape& t, const device::Tensor& dy) {
    const device::Tensor dx = t.device().empty(x.value.shape(), x.value.dtype());
    t.device().max_pool_backward(dy, index, window, dx);
    t.add_gradient(x, dx);
  });
}

}  // namespace lockstep::nn
