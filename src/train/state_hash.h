// The bits of all that training changes, as one number: parameters, buffers, the optimizer's state, the
// average of the weights and the number of updates. Equal at any number of ranks where the bits are, and
// independent of how tensors lie in memory: each goes by its name in the checkpoint, without padding.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/device.h"

namespace lockstep::train {

struct StateHash {
  struct Part {
    std::string name;
    std::uint64_t hash = 0;
  };
  std::vector<Part> parts;  // sorted by name
  // XXH3-64 of the parts as lines of text, "NAME HASH\n" with 16 hexadecimal digits.
  std::uint64_t whole = 0;
};

// XXH3-64 of the elements of an f32 tensor in row-major order, little-endian.
std::uint64_t hash_of(device::Device& device, const device::Tensor& tensor);

// Sorts the parts and adds them up.
StateHash whole_of(std::vector<StateHash::Part> parts);

// 16 hexadecimal digits.
std::string hash_text(std::uint64_t hash);

}  // namespace lockstep::train
