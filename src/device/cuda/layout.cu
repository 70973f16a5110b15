// Order of images: [n, h, w, c] <-> [n, c, h, w].
#include "device/cuda/cuda_device.h"
#include "device/cuda/packs.h"

namespace lockstep::device {

namespace {

constexpr unsigned tile = 32;           // rows and columns that a block turns over in shared memory
constexpr unsigned rows_at_a_time = 8;  // of a tile

// y [columns, rows] = transpose of x [rows, columns], for each image. A block: one tile of one image.
template <typename T>
__global__ void transpose(const T* x, unsigned rows, unsigned columns, T* y) {
  // The last column is padding: without it a column would lie in one memory bank.
  __shared__ T values[tile][tile + 1];
  const unsigned tiles_down = (rows + tile - 1) / tile;
  const unsigned tiles_across = (columns + tile - 1) / tile;
  const unsigned column0 = blockIdx.x % tiles_across * tile;
  const unsigned row0 = blockIdx.x / tiles_across % tiles_down * tile;
  const std::int64_t image =
      blockIdx.x / tiles_across / tiles_down * static_cast<std::int64_t>(rows) * columns;
  const unsigned lane = threadIdx.x % tile;
  for (unsigned i = threadIdx.x / tile; i < tile; i += rows_at_a_time) {
    if (row0 + i < rows && column0 + lane < columns) {
      values[i][lane] = x[image + static_cast<std::int64_t>(row0 + i) * columns + column0 + lane];
    }
  }
  __syncthreads();
  for (unsigned i = threadIdx.x / tile; i < tile; i += rows_at_a_time) {
    if (column0 + i < columns && row0 + lane < rows) {
      y[image + static_cast<std::int64_t>(column0 + i) * rows + row0 + lane] = values[lane][i];
    }
  }
}

void transpose_images(const Tensor& x, std::int64_t rows, std::int64_t columns, const Tensor& y,
                      cudaStream_t stream) {
  const std::int64_t tiles = ((rows + tile - 1) / tile) * ((columns + tile - 1) / tile);
  const cuda::Grid grid{cuda::narrow_count(x.shape()[0] * tiles), tile * rows_at_a_time};
  cuda::for_values(x, [&](auto type) {
    using T = decltype(type);
    LOCKSTEP_LAUNCH((transpose<T>), grid, stream, cuda::reads<T>(x), cuda::narrow_count(rows),
                    cuda::narrow_count(columns), cuda::writes<T>(y));
  });
}

}  // namespace

void CudaDevice::nhwc_to_nchw(const Tensor& x, const Tensor& y) {
  const Shape& s = x.shape();
  require_shape(y, {s[0], s[3], s[1], s[2]}, "nhwc_to_nchw: y");
  transpose_images(x, s[1] * s[2], s[3], y, stream());
}

void CudaDevice::nchw_to_nhwc(const Tensor& x, const Tensor& y) {
  const Shape& s = x.shape();
  require_shape(y, {s[0], s[2], s[3], s[1]}, "nchw_to_nhwc: y");
  transpose_images(x, s[1], s[2] * s[3], y, stream());
}

}  // namespace lockstep::device
