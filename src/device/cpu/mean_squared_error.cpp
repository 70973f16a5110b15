#include "device/cpu/cpu_device.h"
#include "device/cpu/values.h"
#include "device/cpu/write_loss.h"

namespace lockstep::device {

void CpuDevice::mean_squared_error(const Tensor& predictions, const Tensor& targets, float gradient_scale,
                                   const Tensor& dpredictions, const Tensor& sums) {
  require_shape(targets, predictions.shape(), "mean_squared_error: targets");
  if (dpredictions) require_shape(dpredictions, predictions.shape(), "mean_squared_error: dpredictions");
  const std::int64_t n = predictions.shape()[0];
  const std::int64_t width = predictions.shape()[1];
  const cpu::Values values(predictions);
  const float* target = targets.f32();
  const auto gradients = cpu::Values::optional(dpredictions);
  const double share = 1. / static_cast<double>(width);
  double loss = 0.;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto prediction = values.read(i * width, width);
    const auto gradient = gradients.write(i * width, width);
    double sum = 0.;
    for (std::int64_t j = 0; j < width; ++j) {
      const double difference = static_cast<double>(prediction.data()[j]) - target[i * width + j];
      sum += difference * difference;
      if (gradients) gradient.data()[j] = gradient_scale * static_cast<float>(2. * share * difference);
    }
    loss += share * sum;
  }
  cpu::write_loss({loss, 0, 0}, sums);
}

}  // namespace lockstep::device
