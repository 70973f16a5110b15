#include "optim/gradient_norm.h"

#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace lockstep::optim {

double gradient_norm(const nn::ParameterSet& parameters, double gradient_scale) {
  const auto groups = parameters.groups();
  if (groups.empty()) return 0.;
  device::Device& device = parameters.device();
  const device::Tensor sums = device.empty({static_cast<std::int64_t>(groups.size())}, device::DType::f64);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    device.sum_of_squares(groups[i].gradients, sums.slice(static_cast<std::int64_t>(i), {1}));
  }
  std::vector<double> host(groups.size());
  device.download(sums, std::span<double>(host));
  return std::abs(gradient_scale) * std::sqrt(std::accumulate(host.begin(), host.end(), 0.));
}

double clip_coefficient(double norm, double max_norm) {
  if (max_norm == 0.) return 1.;
  const double coefficient = max_norm / (norm + 1e-6);
  return coefficient > 1. ? 1. : coefficient;
}

}  // namespace lockstep::optim
