#include "nn/max_pool2d.h"

#include <fmt/format.h>

#include "core/error.h"

namespace lockstep::nn {

Variable max_pool2d(Tape& tape, const Variable& x, std::int64_t size, device::Activation activation) {
  const device::Shape& in = x.value.shape();
  if (in.rank() != 4 || in[1] < size || in[2] < size) {
    throw Error(ExitCode::bad_config,
                fmt::format("max-pooling over {} x {} cannot run on {}, wanted images [n, h, w, "
                            "channels] of at least that size: use fewer layers",
                            size, size, in.text()));
  }
  const device::Shape pooled{in[0], in[1] / size, in[2] / size, in[3]};
  const device::Tensor y = tape.device().empty(pooled);
  const device::Tensor index = tape.device().empty(pooled, device::DType::u8);
  tape.device().max_pool_forward(x.value, size, activation, y, index);
  return tape.record(y, x.needs_gradient(), {}, [x, index, size](Tape& t, const device::Tensor& dy) {
    const device::Tensor dx = t.device().empty(x.value.shape());
    t.device().max_pool_backward(dy, index, size, dx);
    t.add_gradient(x, dx);
  });
}

}  // namespace lockstep::nn
