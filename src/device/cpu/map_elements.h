// Inside src/device/cpu only: operations that take each element by itself, in chunks over the threads.
#pragma once

#include "device/cpu/parallel.h"
#include "device/cpu/values.h"

namespace lockstep::device::cpu {

// range(x, y, count) for each chunk; the tensors have one shape and any type.
template <typename Range>
void map_elements(int threads, const Tensor& x, const Tensor& y, Range range) {
  const Values from(x);
  const Values to(y);
  for_each_chunk(threads, x.count(), elements_per_chunk, [=](std::int64_t first, std::int64_t last) {
    const std::int64_t count = last - first;
    const auto input = from.read(first, count);
    range(input.data(), to.write(first, count).data(), count);
  });
}

// range(a, b, y, count) for each chunk.
template <typename Range>
void map_elements(int threads, const Tensor& a, const Tensor& b, const Tensor& y, Range range) {
  const Values left(a);
  const Values right(b);
  const Values to(y);
  for_each_chunk(threads, a.count(), elements_per_chunk, [=](std::int64_t first, std::int64_t last) {
    const std::int64_t count = last - first;
    range(left.read(first, count).data(), right.read(first, count).data(), to.write(first, count).data(),
          count);
  });
}

}  // namespace lockstep::device::cpu
