#include "data/array_input.h"

#include <fmt/format.h>

#include "core/error.h"

namespace lockstep::data {

std::int64_t ArrayInput::row_elements() const {
  std::int64_t elements = 1;
  for (const std::int64_t dim : row_shape()) elements *= dim;
  return elements;
}

void check_extent(const std::string& place, ElementType type, std::int64_t rows,
                  std::span<const std::int64_t> row_shape) {
  constexpr std::int64_t most = std::int64_t{1} << 31;
  std::int64_t bytes = static_cast<std::int64_t>(size_of(type));
  for (const std::int64_t dim : row_shape) {
    bytes = dim <= 0 || dim > most / bytes ? 0 : bytes * dim;
    if (bytes == 0) {
      throw Error(
          ExitCode::bad_data,
          fmt::format("{} has items with an extent of {}, which is empty or beyond 2 GiB", place, dim));
    }
  }
  constexpr std::int64_t most_bytes = std::int64_t{1} << 60;
  if (rows < 0 || rows > most_bytes / bytes) {
    throw Error(ExitCode::bad_data,
                fmt::format("{} says that it has {} rows of {} bytes, more than any file holds; get it again",
                            place, rows, bytes));
  }
}

}  // namespace lockstep::data
