#include "device/cuda/bias.h"

#include <algorithm>
#include <type_traits>

#include "device/cuda/element.h"
#include "device/cuda/launch.h"

namespace lockstep::device::cuda {

namespace {

constexpr unsigned most_parts = 512;
constexpr unsigned least_rows_of_part = 32;
// A block of the second stage: 32 columns, whose parts 8 threads each share.
constexpr unsigned tile = 32;
constexpr unsigned sharers = 8;

template <typename T>
__global__ void add_bias_kernel(const float* bias, std::size_t count, std::size_t columns, bool relu, T* y) {
  const std::size_t stride = std::size_t{blockDim.x} * gridDim.x;
  for (std::size_t j = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; j < count; j += stride) {
    const float value = widen(y[j]) + (bias == nullptr ? 0.f : bias[j % columns]);
    y[j] = narrow<T>(relu && value < 0.f ? 0.f : value);
  }
}

// parts [number of parts, columns]
template <typename T>
__global__ void sum_parts_kernel(const T* dy, std::size_t rows, std::size_t columns, std::size_t rows_of_part,
                                 std::size_t parts_count, float* parts) {
  const std::size_t stride = std::size_t{blockDim.x} * gridDim.x;
  for (std::size_t j = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; j < parts_count * columns;
       j += stride) {
    const std::size_t column = j % columns;
    const std::size_t first = j / columns * rows_of_part;
    const std::size_t end = first + rows_of_part < rows ? first + rows_of_part : rows;
    float sum = 0.f;
    for (std::size_t row = first; row < end; ++row) sum += widen(dy[row * columns + column]);
    parts[j] = sum;
  }
}

__global__ void add_parts_kernel(const float* parts, std::size_t parts_count, std::size_t columns,
                                 bool accumulate, float* sums) {
  __shared__ float shares[sharers * tile];
  const unsigned lane = threadIdx.x % tile;
  const unsigned share = threadIdx.x / tile;
  const std::size_t column = std::size_t{blockIdx.x} * tile + lane;
  float sum = 0.f;
  if (column < columns) {
    for (std::size_t part = share; part < parts_count; part += sharers) sum += parts[part * columns + column];
  }
  shares[share * tile + lane] = sum;
  __syncthreads();
  if (share != 0 || column >= columns) return;
  for (unsigned other = 1; other < sharers; ++other) sum += shares[other * tile + lane];
  sums[column] = accumulate ? sums[column] + sum : sum;
}

std::size_t columns_of(const Tensor& tensor) {
  return static_cast<std::size_t>(tensor.shape()[tensor.shape().rank() - 1]);
}

std::size_t rows_of_part(std::size_t rows) {
  return std::max<std::size_t>(least_rows_of_part, (rows + most_parts - 1) / most_parts);
}

}  // namespace

void add_bias(cudaStream_t stream, const Tensor& bias, Activation activation, const Tensor& y) {
  const auto count = static_cast<std::size_t>(y.count());
  const std::size_t columns = columns_of(y);
  const float* address = bias ? bias.f32() : nullptr;
  with_elements(y, [&](auto* elements) {
    using Element = std::remove_pointer_t<decltype(elements)>;
    LOCKSTEP_LAUNCH(add_bias_kernel<Element>, grid_over(count), stream, reads(address, bias ? columns : 0),
                    count, columns, activation == Activation::relu, updates(elements, count));
  });
}

Shape row_sums_shape(const Tensor& dy) {
  const std::size_t columns = columns_of(dy);
  const std::size_t rows = static_cast<std::size_t>(dy.count()) / columns;
  const std::size_t parts = (rows + rows_of_part(rows) - 1) / rows_of_part(rows);
  return {static_cast<std::int64_t>(parts), static_cast<std::int64_t>(columns)};
}

void sum_rows(cudaStream_t stream, const Tensor& dy, const Tensor& parts, bool accumulate,
              const Tensor& sums) {
  require_shape(parts, row_sums_shape(dy), "sums of rows: parts");
  const auto count = static_cast<std::size_t>(dy.count());
  const std::size_t columns = columns_of(dy);
  const std::size_t rows = count / columns;
  const auto parts_count = static_cast<std::size_t>(parts.shape()[0]);
  with_elements(dy, [&](auto* elements) {
    using Element = std::remove_pointer_t<decltype(elements)>;
    LOCKSTEP_LAUNCH(sum_parts_kernel<Element>, grid_over(parts_count * columns), stream,
                    reads(elements, count), rows, columns, rows_of_part(rows), parts_count,
                    writes(parts.f32(), parts_count * columns));
  });
  const Grid grid{static_cast<unsigned>((columns + tile - 1) / tile), tile * sharers};
  LOCKSTEP_LAUNCH(add_parts_kernel, grid, stream, reads(parts.f32(), parts_count * columns), parts_count,
                  columns, accumulate, updates(sums.f32(), columns));
}

}  // namespace lockstep::device::cuda
