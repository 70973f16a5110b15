// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// SC11, doi:10.1145/2063384.2063405). A value is a pure function of (key, counter), so that any rank, thread
// or device can compute any part of a stream without the parts before it (contract C1).
#pragma once

#include <array>
#include <cstdint>

#include "core/host_device.h"

namespace lockstep {

using PhiloxBlock = std::array<std::uint32_t, 4>;

// What a stream of random numbers is for. Part of the key: values must never change meaning between releases.
enum class Purpose : std::uint32_t {
  init = 1,            // parameter initialisation
  shard_shuffle = 2,   // order of blocks in an epoch
  window_shuffle = 3,  // order of samples in a window
  dropout = 4,
  augment = 5,  // crop and mirroring of an image in an epoch
};

// Ten rounds on one counter block, which becomes four independent uniform 32-bit words.
LOCKSTEP_HOST_DEVICE constexpr void philox_rounds(std::uint64_t key, std::uint32_t (&counter)[4]) {
  auto k0 = static_cast<std::uint32_t>(key);
  auto k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * counter[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * counter[2];
    counter[0] = static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ k0;
    counter[1] = static_cast<std::uint32_t>(p1);
    counter[2] = static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ k1;
    counter[3] = static_cast<std::uint32_t>(p0);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
}

constexpr PhiloxBlock philox(std::uint64_t key, const PhiloxBlock& counter) {
  std::uint32_t words[4] = {counter[0], counter[1], counter[2], counter[3]};
  philox_rounds(key, words);
  return {words[0], words[1], words[2], words[3]};
}

// Uniform in [0, 1) with 24 bits, exactly representable in a float.
constexpr float to_unit_float(std::uint32_t word) {
  return static_cast<float>(word >> 8) * 0x1.0p-24f;
}

// A stream keyed by (seed, purpose, a, b) that hands out 32-bit words in order.
class PhiloxStream {
 public:
  PhiloxStream(std::uint64_t seed, Purpose purpose, std::uint64_t a, std::uint32_t b = 0)
      : key_(mix(seed, purpose)),
        counter_{0, b, static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(a >> 32)} {}

  std::uint32_t next() {
    if (used_ == 4) {
      block_ = philox(key_, counter_);
      ++counter_[0];
      used_ = 0;
    }
    return block_[used_++];
  }

  // Uniform in [0, bound) without modulo bias (Lemire's multiply-and-reject); bound > 0.
  std::uint32_t below(std::uint32_t bound) {
    std::uint64_t product = std::uint64_t{next()} * bound;
    const std::uint32_t threshold = (0u - bound) % bound;
    while (static_cast<std::uint32_t>(product) < threshold) product = std::uint64_t{next()} * bound;
    return static_cast<std::uint32_t>(product >> 32);
  }

  // The 64-bit Philox key of (seed, purpose); splitmix64's finaliser keeps near seeds apart.
  static constexpr std::uint64_t mix(std::uint64_t seed, Purpose purpose) {
    std::uint64_t z = seed + 0x9E3779B97F4A7C15ull * static_cast<std::uint64_t>(purpose);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t key_;
  PhiloxBlock counter_;
  PhiloxBlock block_{};
  std::size_t used_ = 4;
};

}  // namespace lockstep
