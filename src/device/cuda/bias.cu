#include "device/cuda/bias.h"

#include <algorithm>

#include "device/cuda/numbers.h"

namespace lockstep::device::cuda {

namespace {

constexpr std::int64_t most_parts = 512;
constexpr std::int64_t least_rows_of_part = 32;
// A block of the second stage: 32 columns, whose parts 8 threads each share.
constexpr unsigned tile = 32;
constexpr unsigned sharers = 8;

template <typename T>
__global__ void add_bias_kernel(const float* bias, std::int64_t count, std::int64_t columns, bool relu,
                                T* y) {
  for (std::int64_t j = first_element(); j < count; j += element_stride()) {
    const float value = to_float(y[j]) + (bias == nullptr ? 0.f : bias[j % columns]);
    y[j] = from_float<T>(relu && value < 0.f ? 0.f : value);
  }
}

// parts [number of parts, columns]
template <typename T>
__global__ void sum_parts_kernel(const T* dy, std::int64_t rows, std::int64_t columns,
                                 std::int64_t rows_of_part, std::int64_t parts_count, float* parts) {
  for (std::int64_t j = first_element(); j < parts_count * columns; j += element_stride()) {
    const std::int64_t column = j % columns;
    const std::int64_t first = j / columns * rows_of_part;
    const std::int64_t end = first + rows_of_part < rows ? first + rows_of_part : rows;
    float sum = 0.f;
    for (std::int64_t row = first; row < end; ++row) sum += to_float(dy[row * columns + column]);
    parts[j] = sum;
  }
}

__global__ void add_parts_kernel(const float* parts, std::int64_t parts_count, std::int64_t columns,
                                 bool accumulate, float* sums) {
  __shared__ float shares[sharers][tile];
  const unsigned lane = threadIdx.x % tile;
  const unsigned share = threadIdx.x / tile;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * tile + lane;
  float sum = 0.f;
  if (column < columns) {
    for (std::int64_t part = share; part < parts_count; part += sharers)
      sum += parts[part * columns + column];
  }
  shares[share][lane] = sum;
  __syncthreads();
  if (share != 0 || column >= columns) return;
  for (unsigned other = 1; other < sharers; ++other) sum += shares[other][lane];
  sums[column] = accumulate ? sums[column] + sum : sum;
}

std::int64_t columns_of(const Tensor& tensor) {
  return tensor.shape()[tensor.shape().rank() - 1];
}

std::int64_t rows_of_part(std::int64_t rows) {
  return std::max(least_rows_of_part, (rows + most_parts - 1) / most_parts);
}

}  // namespace

void add_bias(cudaStream_t stream, const Tensor& bias, bool relu, const Tensor& y) {
  for_values(y, [&](auto type) {
    using T = decltype(type);
    LOCKSTEP_LAUNCH((add_bias_kernel<T>), grid_over(static_cast<std::size_t>(y.count())), stream,
                    reads<float>(bias), y.count(), columns_of(y), relu, updates<T>(y));
  });
}

Shape row_sums_shape(const Tensor& dy) {
  const std::int64_t columns = columns_of(dy);
  const std::int64_t rows = dy.count() / columns;
  return {(rows + rows_of_part(rows) - 1) / rows_of_part(rows), columns};
}

void sum_rows(cudaStream_t stream, const Tensor& dy, const Tensor& parts, bool accumulate,
              const Tensor& sums) {
  require_shape(parts, row_sums_shape(dy), "sums of rows: parts");
  const std::int64_t columns = columns_of(dy);
  const std::int64_t rows = dy.count() / columns;
  for_values(dy, [&](auto type) {
    using T = decltype(type);
    LOCKSTEP_LAUNCH((sum_parts_kernel<T>), grid_over(static_cast<std::size_t>(parts.count())), stream,
                    reads<T>(dy), rows, columns, rows_of_part(rows), parts.shape()[0], writes<float>(parts));
  });
  const Grid grid{static_cast<unsigned>((columns + tile - 1) / tile), tile * sharers};
  LOCKSTEP_LAUNCH(add_parts_kernel, grid, stream, reads<float>(parts), parts.shape()[0], columns, accumulate,
                  updates<float>(sums));
}

}  // namespace lockstep::device::cuda
