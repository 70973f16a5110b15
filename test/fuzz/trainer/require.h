// For fuzz targets: what must hold whatever the input is.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string_view>

inline void require(bool holds) {
  if (!holds) std::abort();
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// An error is one line for people that names the file.
inline void require_message(std::string_view message, std::string_view file) {
  require(message.find(file) != std::string_view::npos);
  require(message.size() < 20000);
}
