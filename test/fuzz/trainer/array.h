// For the fuzz targets of array files: read to the end, in pieces.
#pragma once

#include <algorithm>
#include <vector>

#include "core/error.h"
#include "data/array_input.h"
#include "data/byte_input.h"
#include "require.h"

template <typename File>
int read_array(const std::uint8_t* data, std::size_t size) {
  try {
    File file(lockstep::data::memory_input("array.bin", {data, size}));
    require(file.rows() >= 0 && file.row_bytes() > 0);
    std::vector<std::byte> row(static_cast<std::size_t>(std::min<std::int64_t>(file.row_bytes(), 1 << 20)));
    // A row may be larger than the input could be: such a file ends early.
    const auto size_of_rows = [&](std::int64_t rows) { return rows > 0 && file.row_bytes() <= 1 << 20; };
    for (std::int64_t i = 0; i < file.rows() && size_of_rows(file.rows()); ++i) file.read(row);
    if (file.row_bytes() <= 1 << 20) file.finish();
  } catch (const lockstep::Error& error) {
    require(error.code() == lockstep::ExitCode::bad_data);
    require_message(error.what(), "array.bin");
  }
  return 0;
}
