#include "device/cuda/filter_layout.h"

#include <type_traits>

#include "device/cuda/element.h"
#include "device/cuda/launch.h"

namespace lockstep::device::cuda {

namespace {

// area = kh kw. Neighbouring threads write neighbours.
template <typename T>
__global__ void weight_to_filter_kernel(const T* weight, std::size_t out, std::size_t in, std::size_t area,
                                        T* filter) {
  const std::size_t stride = std::size_t{blockDim.x} * gridDim.x;
  for (std::size_t j = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; j < out * in * area; j += stride) {
    const std::size_t i = j % in;
    const std::size_t place = j / in % area;
    const std::size_t o = j / (in * area);
    filter[j] = weight[(o * in + i) * area + place];
  }
}

template <typename T>
__global__ void filter_to_weight_kernel(const T* filter, std::size_t out, std::size_t in, std::size_t area,
                                        bool accumulate, float* dweight) {
  const std::size_t stride = std::size_t{blockDim.x} * gridDim.x;
  for (std::size_t j = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; j < out * in * area; j += stride) {
    const std::size_t place = j % area;
    const std::size_t i = j / area % in;
    const std::size_t o = j / (in * area);
    const float value = widen(filter[(o * area + place) * in + i]);
    dweight[j] = accumulate ? dweight[j] + value : value;
  }
}

}  // namespace

void weight_to_filter(cudaStream_t stream, const Tensor& weight, const Tensor& filter) {
  const auto count = static_cast<std::size_t>(weight.count());
  const auto out = static_cast<std::size_t>(weight.shape()[0]);
  const auto in = static_cast<std::size_t>(weight.shape()[1]);
  with_elements(weight, [&](auto* address) {
    using Element = std::remove_pointer_t<decltype(address)>;
    LOCKSTEP_LAUNCH(weight_to_filter_kernel<Element>, grid_over(count), stream, reads(address, count), out,
                    in, count / (out * in), writes(static_cast<Element*>(filter.data()), count));
  });
}

void filter_to_weight(cudaStream_t stream, const Tensor& filter, bool accumulate, const Tensor& dweight) {
  const auto count = static_cast<std::size_t>(dweight.count());
  const auto out = static_cast<std::size_t>(dweight.shape()[0]);
  const auto in = static_cast<std::size_t>(dweight.shape()[1]);
  with_elements(filter, [&](auto* address) {
    using Element = std::remove_pointer_t<decltype(address)>;
    LOCKSTEP_LAUNCH(filter_to_weight_kernel<Element>, grid_over(count), stream, reads(address, count), out,
                    in, count / (out * in), accumulate, updates(dweight.f32(), count));
  });
}

}  // namespace lockstep::device::cuda
