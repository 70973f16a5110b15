#include <algorithm>
#include <cmath>
#include <numeric>

#include "device/cpu/cpu_device.h"
#include "device/cpu/values.h"
#include "device/cpu/write_loss.h"

namespace lockstep::device {

using cpu::write_loss;

void CpuDevice::softmax_cross_entropy(const Tensor& logits, const Tensor& labels, double label_smoothing,
                                      float gradient_scale, const Tensor& dlogits, const Tensor& sums) {
  const std::int64_t n = logits.shape()[0];
  const std::int64_t classes = logits.shape()[1];
  require_shape(labels, {n}, "softmax_cross_entropy: labels");
  if (dlogits) require_shape(dlogits, {n, classes}, "softmax_cross_entropy: dlogits");
  const cpu::Values values(logits);
  const std::int64_t* label = labels.i64();
  const auto gradients = cpu::Values::optional(dlogits);
  const double everywhere = label_smoothing / static_cast<double>(classes);
  const double at_label = 1. - label_smoothing;
  LossSum result;
  for (std::int64_t i = 0; i < n; ++i) {
    if (label[i] < 0 || label[i] >= classes) {
      ++result.invalid;
      if (gradients) std::fill_n(gradients.write(i * classes, classes).data(), classes, 0.f);
      continue;
    }
    const auto logits_here = values.read(i * classes, classes);
    const float* row = logits_here.data();
    const float* largest = std::max_element(row, row + classes);
    double sum = 0.;
    for (std::int64_t j = 0; j < classes; ++j) sum += std::exp(static_cast<double>(row[j]) - *largest);
    const double log_sum = std::log(sum) + *largest;
    double wanted = at_label * row[label[i]];
    if (label_smoothing > 0.) wanted += everywhere * std::accumulate(row, row + classes, 0.);
    result.loss += log_sum - wanted;
    // NaN compares with nothing, so max_element may stop at it: a row with NaN is never correct.
    result.correct += largest == row + label[i] && !std::isnan(sum) ? 1 : 0;
    if (!gradients) continue;
    const auto gradient = gradients.write(i * classes, classes);
    for (std::int64_t j = 0; j < classes; ++j) {
      const double slope = std::exp(row[j] - log_sum) - everywhere - (j == label[i] ? at_label : 0.);
      gradient.data()[j] = gradient_scale * static_cast<float>(slope);
    }
  }
  write_loss(result, sums);
}

}  // namespace lockstep::device
