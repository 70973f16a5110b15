// Random bits, mask and product in one pass: a thread draws one Philox block, for eight elements.
#include "core/philox.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/map.h"
#include "device/dropout_draw.h"

namespace lockstep::device {

namespace {

constexpr std::int64_t draws_together = 16;  // Philox blocks of elements_per_draw elements

template <typename T>
__global__ void drop(const T* x, DropoutDraw draw, const std::int64_t* ids, std::int64_t samples,
                     std::int64_t features, T* y, std::uint8_t* mask) {
  const std::int64_t draws = (features + elements_per_draw - 1) / elements_per_draw * draws_together;
  for (std::int64_t i = cuda::first_element(); i < samples * draws; i += cuda::element_stride()) {
    const std::int64_t sample = i / draws;
    const std::int64_t number = i % draws;
    std::uint32_t words[4] = {static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(draw.step),
                              draw.low(ids[sample]), draw.high(ids[sample])};
    philox_rounds(draw.philox_key, words);
    for (int part = 0; part < 8; ++part) {
      const std::int64_t j =
          number / draws_together * elements_per_draw + part * draws_together + number % draws_together;
      if (j >= features) break;
      const auto bits = static_cast<std::int32_t>(words[part % 4] >> (part < 4 ? 0 : 16) & 0xffffu);
      const bool kept = bits >= draw.threshold;
      const std::int64_t at = sample * features + j;
      y[at] = cuda::from_float<T>(cuda::to_float(x[at]) * (kept ? draw.scale : 0.f));
      mask[at] = kept ? 1 : 0;
    }
  }
}

struct Backward {
  float scale;
  __device__ float operator()(float dy, float kept) const { return dy * (scale * kept); }
};

}  // namespace

void CudaDevice::dropout_forward(const Tensor& x, const DropoutKey& key,
                                 std::span<const std::int64_t> sample_ids, const Tensor& y,
                                 const Tensor& mask) {
  require_shape(y, x.shape(), "dropout: y");
  require_shape(mask, x.shape(), "dropout: mask");
  const DropoutDraw draw = dropout_draw(key, x, sample_ids.size());
  if (x.count() == 0) return;
  const std::int64_t samples = x.shape()[0];
  const std::int64_t features = x.count() / samples;
  const Tensor ids = empty({samples}, DType::i64);
  upload(sample_ids, ids);
  const cuda::Grid grid = cuda::grid_over(static_cast<std::size_t>(x.count() + 7) / 8);
  cuda::for_values(x, [&](auto type) {
    using T = decltype(type);
    LOCKSTEP_LAUNCH((drop<T>), grid, stream(), cuda::reads<T>(x), draw, cuda::reads<std::int64_t>(ids),
                    samples, features, cuda::writes<T>(y), cuda::writes<std::uint8_t>(mask));
  });
}

void CudaDevice::dropout_backward(const Tensor& dy, const Tensor& mask, double probability,
                                  const Tensor& dx) {
  require_shape(mask, dy.shape(), "dropout backward: mask");
  require_shape(dx, dy.shape(), "dropout backward: dx");
  const Backward backward{dropout_scale(dropout_threshold(probability))};
  cuda::for_values(dy, [&](auto type) {
    using T = decltype(type);
    cuda::map("dropout backward", stream(), backward, cuda::writes<T>(dx), cuda::reads<T>(dy),
              cuda::reads<std::uint8_t>(mask));
  });
}

}  // namespace lockstep::device
