// Order of images: [n, h, w, c] <-> [n, c, h, w]. Moves f32, or the bits of 16-bit numbers.
#include <cstddef>
#include <cstdint>

#include "core/vector.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/parallel.h"
#include "device/cpu/values.h"

namespace lockstep::device {

namespace {

// y [columns, rows] = transpose of x [rows, columns]. Tiles of 16 x 16: at most a cache line a row.
template <class Element>
LOCKSTEP_INLINE void transpose_tiles(const Element* x, std::int64_t rows, std::int64_t columns, Element* y) {
  constexpr std::int64_t tile = 16;
  for (std::int64_t row0 = 0; row0 < rows; row0 += tile) {
    const std::int64_t row1 = row0 + tile < rows ? row0 + tile : rows;
    for (std::int64_t column0 = 0; column0 < columns; column0 += tile) {
      const std::int64_t column1 = column0 + tile < columns ? column0 + tile : columns;
      for (std::int64_t column = column0; column < column1; ++column) {
        for (std::int64_t row = row0; row < row1; ++row) y[column * rows + row] = x[row * columns + column];
      }
    }
  }
}

LOCKSTEP_VECTOR_CLONES
void transpose(const float* x, std::int64_t rows, std::int64_t columns, float* y) {
  transpose_tiles(x, rows, columns, y);
}

LOCKSTEP_VECTOR_CLONES
void transpose(const std::uint16_t* x, std::int64_t rows, std::int64_t columns, std::uint16_t* y) {
  transpose_tiles(x, rows, columns, y);
}

void transpose_images(int threads, const Tensor& x, std::int64_t rows, std::int64_t columns,
                      const Tensor& y) {
  cpu::with_elements(x, y, [=, images = x.shape()[0]](const auto* from, auto* to) {
    cpu::for_each_chunk(threads, images, 1, [=](std::int64_t first, std::int64_t) {
      transpose(from + first * rows * columns, rows, columns, to + first * rows * columns);
    });
  });
}

}  // namespace

void CpuDevice::nhwc_to_nchw(const Tensor& x, const Tensor& y) {
  const Shape& s = x.shape();
  require_shape(y, {s[0], s[3], s[1], s[2]}, "nhwc_to_nchw: y");
  transpose_images(threads_, x, s[1] * s[2], s[3], y);
}

void CpuDevice::nchw_to_nhwc(const Tensor& x, const Tensor& y) {
  const Shape& s = x.shape();
  require_shape(y, {s[0], s[2], s[3], s[1]}, "nchw_to_nhwc: y");
  transpose_images(threads_, x, s[1], s[2] * s[3], y);
}

}  // namespace lockstep::device
