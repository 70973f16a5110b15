#include "device/cuda/filter_layout.h"

#include "device/cuda/numbers.h"

namespace lockstep::device::cuda {

namespace {

// area = kh kw. Neighbouring threads write neighbours.
template <typename T>
__global__ void weight_to_filter_kernel(const T* weight, std::int64_t count, std::int64_t in,
                                        std::int64_t area, T* filter) {
  for (std::int64_t j = first_element(); j < count; j += element_stride()) {
    const std::int64_t i = j % in;
    const std::int64_t place = j / in % area;
    const std::int64_t o = j / (in * area);
    filter[j] = weight[(o * in + i) * area + place];
  }
}

template <typename T>
__global__ void filter_to_weight_kernel(const T* filter, std::int64_t count, std::int64_t in,
                                        std::int64_t area, bool accumulate, float* dweight) {
  for (std::int64_t j = first_element(); j < count; j += element_stride()) {
    const std::int64_t place = j % area;
    const std::int64_t i = j / area % in;
    const std::int64_t o = j / (in * area);
    const float value = to_float(filter[(o * area + place) * in + i]);
    dweight[j] = accumulate ? dweight[j] + value : value;
  }
}

std::int64_t area_of(const Tensor& weight) {
  return weight.shape()[2] * weight.shape()[3];
}

}  // namespace

void weight_to_filter(cudaStream_t stream, const Tensor& weight, const Tensor& filter) {
  for_values(weight, [&](auto type) {
    using T = decltype(type);
    LOCKSTEP_LAUNCH((weight_to_filter_kernel<T>), grid_over(static_cast<std::size_t>(weight.count())), stream,
                    reads<T>(weight), weight.count(), weight.shape()[1], area_of(weight), writes<T>(filter));
  });
}

void filter_to_weight(cudaStream_t stream, const Tensor& filter, bool accumulate, const Tensor& dweight) {
  for_values(filter, [&](auto type) {
    using T = decltype(type);
    LOCKSTEP_LAUNCH((filter_to_weight_kernel<T>), grid_over(static_cast<std::size_t>(dweight.count())),
                    stream, reads<T>(filter), dweight.count(), dweight.shape()[1], area_of(dweight),
                    accumulate, updates<float>(dweight));
  });
}

}  // namespace lockstep::device::cuda
