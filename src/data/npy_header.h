// The header of an NPY file: a Python dictionary with the keys descr, fortran_order and shape.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::data {

struct NpyHeader {
  std::string descr;  // "<f4"
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

// Throws Error(bad_data), beginning with `place`.
NpyHeader parse_npy_header(std::string_view text, const std::string& place);

}  // namespace lockstep::data
