// Random bits, mask and product in one pass, sixteen Philox blocks at a time.
#include <algorithm>

#include "core/vector.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/parallel.h"
#include "device/cpu/values.h"
#include "device/dropout_draw.h"

namespace lockstep::device {

namespace {

constexpr std::int64_t lanes = 16;

struct Draw {
  std::uint32_t words[4][lanes];
};

// The same function as lockstep::philox for the counters {first + lane, counter1, counter2, counter3};
// written over lanes because the compiler does not vectorise across calls of that one.
LOCKSTEP_INLINE void philox_lanes(std::uint64_t key, std::uint32_t first, std::uint32_t counter1,
                                  std::uint32_t counter2, std::uint32_t counter3, Draw& draw) {
  auto& c = draw.words;
#pragma omp simd
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    c[0][lane] = first + lane;
    c[1][lane] = counter1;
    c[2][lane] = counter2;
    c[3][lane] = counter3;
  }
  auto k0 = static_cast<std::uint32_t>(key);
  auto k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
#pragma omp simd
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c[0][lane];
      const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * c[2][lane];
      c[0][lane] = static_cast<std::uint32_t>(p1 >> 32) ^ c[1][lane] ^ k0;
      c[1][lane] = static_cast<std::uint32_t>(p1);
      c[2][lane] = static_cast<std::uint32_t>(p0 >> 32) ^ c[3][lane] ^ k1;
      c[3][lane] = static_cast<std::uint32_t>(p0);
    }
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
}

LOCKSTEP_VECTOR_CLONES
void forward_sample(const float* x, std::int64_t count, std::uint64_t key, std::uint32_t counter1,
                    std::uint32_t counter2, std::uint32_t counter3, std::int32_t threshold, float scale,
                    float* y, std::uint8_t* mask) {
  for (std::int64_t start = 0; start < count; start += elements_per_draw) {
    Draw draw;
    philox_lanes(key, static_cast<std::uint32_t>(start / elements_per_draw * lanes), counter1, counter2,
                 counter3, draw);
    for (std::int64_t part = 0; part < elements_per_draw / lanes && start + part * lanes < count; ++part) {
      const std::int64_t at = start + part * lanes;
      const std::uint32_t* word = draw.words[part % 4];
      const std::uint32_t shift = part < 4 ? 0 : 16;
      const std::int64_t here = std::min(lanes, count - at);
#pragma omp simd
      for (std::int64_t lane = 0; lane < here; ++lane) {
        // Products in place of conditions: no branches.
        const std::int32_t kept =
            static_cast<std::int32_t>((word[lane] >> shift) & 0xffffu) >= threshold ? 1 : 0;
        y[at + lane] = x[at + lane] * (scale * static_cast<float>(kept));
        mask[at + lane] = static_cast<std::uint8_t>(kept);
      }
    }
  }
}

LOCKSTEP_VECTOR_CLONES
void backward_range(const float* dy, const std::uint8_t* mask, float scale, float* dx, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) dx[i] = dy[i] * (scale * static_cast<float>(mask[i]));
}

}  // namespace

void CpuDevice::dropout_forward(const Tensor& x, const DropoutKey& key,
                                std::span<const std::int64_t> sample_ids, const Tensor& y,
                                const Tensor& mask) {
  const std::int64_t n = x.shape()[0];
  require_shape(y, x.shape(), "dropout: y");
  require_shape(mask, x.shape(), "dropout: mask");
  const DropoutDraw draw = dropout_draw(key, x, sample_ids.size());
  const std::int64_t count = n == 0 ? 0 : x.count() / n;
  const cpu::Values from(x);
  const cpu::Values to(y);
  std::uint8_t* kept = mask.u8();
  cpu::for_each_chunk(threads_, n, 1, [=](std::int64_t i, std::int64_t) {
    const std::int64_t id = sample_ids[static_cast<std::size_t>(i)];
    const auto input = from.read(i * count, count);
    const auto output = to.write(i * count, count);
    forward_sample(input.data(), count, draw.philox_key, static_cast<std::uint32_t>(draw.step), draw.low(id),
                   draw.high(id), draw.threshold, draw.scale, output.data(), kept + i * count);
  });
}

void CpuDevice::dropout_backward(const Tensor& dy, const Tensor& mask, double probability, const Tensor& dx) {
  require_shape(mask, dy.shape(), "dropout backward: mask");
  require_shape(dx, dy.shape(), "dropout backward: dx");
  const float scale = dropout_scale(dropout_threshold(probability));
  const cpu::Values gradient(dy);
  const std::uint8_t* kept = mask.u8();
  const cpu::Values to(dx);
  cpu::for_each_chunk(threads_, dy.count(), cpu::elements_per_chunk,
                      [=](std::int64_t first, std::int64_t last) {
                        const auto input = gradient.read(first, last - first);
                        const auto output = to.write(first, last - first);
                        backward_range(input.data(), kept + first, scale, output.data(), last - first);
                      });
}

}  // namespace lockstep::device
