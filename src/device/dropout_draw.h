// What dropout draws from Philox, the same on all devices (contract C1).
//
// Element j of a sample, with g = j / 128 and r = j % 128, draws 16 bits: half r / 64 (0: low) of word r / 16
// % 4 of the Philox block number 16 g + r % 16. This order lets 16 neighbours come out of one vector of a
// CPU, and out of 16 neighbouring threads of a GPU. It is dropped where the bits are below the threshold.
#pragma once

#include <cstdint>

#include "core/host_device.h"
#include "device/device.h"

namespace lockstep::device {

// Elements that 16 Philox blocks give bits for.
inline constexpr std::int64_t elements_per_draw = 128;

// A layer's part of key and counter, and what the probability becomes.
struct DropoutDraw {
  std::uint64_t philox_key;
  std::uint64_t step;
  std::uint64_t layer;
  std::int32_t threshold;  // of 65536 values, how many mean "drop"
  float scale;             // of what is kept: exact for the rounded probability, so that the mean stays

  // The last two words of a sample's counters. They hold 48 bits of its id, 12 of the layer and 4 of the
  // step; the first two are the block's number and the low bits of the step.
  LOCKSTEP_HOST_DEVICE constexpr std::uint32_t low(std::int64_t sample_id) const {
    return static_cast<std::uint32_t>(sample_id);
  }
  LOCKSTEP_HOST_DEVICE constexpr std::uint32_t high(std::int64_t sample_id) const {
    return static_cast<std::uint32_t>(((static_cast<std::uint64_t>(sample_id) >> 32) & 0xffffu) |
                                      layer << 16 | (step >> 32) << 28);
  }
};

// Error(internal) for a probability outside [0, 1).
std::int32_t dropout_threshold(double probability);
float dropout_scale(std::int32_t threshold);

// Of a batch x [n, ...] with `samples` ids. Error(internal) where they are not n, or where step or layer are
// larger than a counter has room for.
DropoutDraw dropout_draw(const DropoutKey& key, const Tensor& x, std::size_t samples);

}  // namespace lockstep::device
