// The parameters of a model by name, and the flat buffers that they live in.
//
// One buffer of values and one of gradients per group (with and without weight decay), tensors aligned to 256
// bytes in reverse order of registration: backward then finishes a buffer from its front to its back, a
// reducer's bucket is a contiguous slice and the optimizer one pass. Padding is zero in both and stays so.
// The order is an inner matter: files go by name (contract C6).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.h"
#include "nn/initializer.h"

namespace lockstep::nn {

struct Parameter {
  std::size_t index = 0;  // order of registration
  std::string name;       // "conv1.weight"
  device::Shape shape;    // PyTorch's
  bool weight_decay = false;
  std::size_t group = 0;    // in ParameterSet::groups()
  std::int64_t offset = 0;  // elements from the start of the group's buffers
  device::Tensor value;     // slices of the group's buffers
  device::Tensor gradient;

  // This parameter's part of buffers laid out like the groups' values, such as an optimizer's state.
  device::Tensor slice_of(std::span<const device::Tensor> group_buffers) const;
};

struct ParameterGroup {
  bool weight_decay = false;
  device::Tensor values;             // flat, [elements with padding]
  device::Tensor gradients;          // the same layout
  std::vector<std::size_t> members;  // parameter indices in the order in which they lie
};

class ParameterSet {
 public:
  explicit ParameterSet(device::Device& device) : device_(device) {}
  ParameterSet(const ParameterSet&) = delete;  // layers refer to it
  ParameterSet& operator=(const ParameterSet&) = delete;

  // Before allocate(). Returns the parameter's index. A name used twice is Error(internal).
  std::size_t add(const std::string& name, const device::Shape& shape, const Initializer& initializer,
                  bool weight_decay);
  // Lays the parameters out, initialises the values and zeroes the gradients. Once.
  void allocate(std::uint64_t seed);

  std::size_t size() const { return parameters_.size(); }
  std::int64_t element_count() const;  // without padding
  const Parameter& operator[](std::size_t index) const { return parameters_[index]; }
  std::span<const Parameter> all() const { return parameters_; }  // in order of registration
  // nullptr if there is none.
  const Parameter* find(std::string_view name) const;
  // Groups without members are left out.
  std::span<const ParameterGroup> groups() const { return groups_; }
  device::Device& device() const { return device_; }

  // Swaps the groups' values with buffers laid out like them, without copying: used with the same buffers
  // twice, all is as before. Variables of an earlier forward pass keep what they had.
  void exchange_values(std::span<device::Tensor> group_buffers);

  // Values to and from the host, row-major in the parameter's shape.
  void export_values(std::size_t index, std::span<float> host) const;
  void import_values(std::size_t index, std::span<const float> host);

 private:
  device::Device& device_;
  std::vector<Parameter> parameters_;
  std::vector<Initializer> initializers_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
  std::vector<ParameterGroup> groups_;
};

}  // namespace lockstep::nn
