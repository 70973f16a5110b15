// Checksums: XXH3, 64 bits (libxxhash). Python's `xxhash.xxh3_64_intdigest` gives the same values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace lockstep {

std::uint64_t hash64(std::span<const std::byte> bytes);
std::uint64_t hash64(std::string_view text);

// For data that arrives in pieces.
class Hasher {
 public:
  Hasher();
  void update(std::span<const std::byte> bytes);
  std::uint64_t digest() const;

 private:
  struct Free {
    void operator()(void* state) const;
  };
  std::unique_ptr<void, Free> state_;  // an XXH3_state_t: kept out of this header
};

}  // namespace lockstep
