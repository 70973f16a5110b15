// The parameters of a model by name, and the flat buffers that they live in.
//
// One buffer of values and one of gradients per group (with and without weight decay), tensors aligned to 256
// bytes in reverse order of registration: backward then finishes a buffer from its front to its back, a
// reducer's bucket is a contiguous slice and the optimizer one pass. Padding is zero in both and stays so.
// For networks that are computed in a 16-bit type the values have a copy in it, laid out like them; the
// values themselves and the gradients stay f32. The groups' gradients lie one behind the other in one flat
// tensor, which can be exchanged for another. The order is an inner matter: files go by name (contract C6).
//
// Beside them, buffers: state of the model that no gradient reaches, such as running statistics. Statistics
// of a training pass are laid out like them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
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
  device::Tensor compute;   // the value in the type of the computation: what weights multiply with
  device::Tensor gradient;

  // This parameter's part of buffers laid out like the groups' values, such as an optimizer's state.
  device::Tensor slice_of(std::span<const device::Tensor> group_buffers) const;
};

struct ParameterGroup {
  bool weight_decay = false;
  device::Tensor values;     // flat, [elements with padding]
  device::Tensor compute;    // the same layout, in the type of the computation; in f32 the values themselves
  device::Tensor gradients;  // the same layout
  std::int64_t first = 0;    // where they begin in ParameterSet::gradients(), in elements
  std::vector<std::size_t> members;  // parameter indices in the order in which they lie
};

struct Buffer {
  std::string name;  // "bn1.running_mean"
  device::Shape shape;
  std::int64_t offset = 0;  // elements from the start of the flat tensor
  device::Tensor value;     // a slice of it

  // This buffer's part of a tensor that is laid out like ParameterSet::buffer_values().
  device::Tensor slice_of(const device::Tensor& flat) const { return flat.slice(offset, shape); }
};

class ParameterSet {
 public:
  explicit ParameterSet(device::Device& device) : device_(device) {}
  ParameterSet(const ParameterSet&) = delete;  // layers refer to it
  ParameterSet& operator=(const ParameterSet&) = delete;

  // Before allocate(). Returns the parameter's index. A name used twice is Error(internal).
  std::size_t add(const std::string& name, const device::Shape& shape, const Initializer& initializer,
                  bool weight_decay);
  // The same for a buffer that starts as `value` everywhere; its index is among buffers().
  std::size_t add_buffer(const std::string& name, const device::Shape& shape, float value);
  // Lays parameters and buffers out, initialises the values and zeroes the gradients. Once. `compute` is the
  // type of the computation: f32, bf16 or f16.
  void allocate(std::uint64_t seed, device::DType compute = device::DType::f32);

  std::size_t size() const { return parameters_.size(); }
  std::int64_t element_count() const;  // without padding and buffers
  const Parameter& operator[](std::size_t index) const { return parameters_[index]; }
  std::span<const Parameter> all() const { return parameters_; }  // in order of registration
  // nullptr if there is none.
  const Parameter* find(std::string_view name) const;
  // Groups without members are left out.
  std::span<const ParameterGroup> groups() const { return groups_; }
  std::span<const Buffer> buffers() const { return buffers_; }  // in order of registration
  // All of them, without padding; empty where there are none.
  const device::Tensor& buffer_values() const { return buffer_values_; }
  device::Device& device() const { return device_; }

  // Those of all groups in one tensor, [elements with padding].
  const device::Tensor& gradients() const { return gradients_; }
  // From here on gradients are in `flat`, which is as large. Its padding is zero.
  void use_gradients(const device::Tensor& flat);

  // Makes the copies of the values anew: after whatever changes values from outside, as an optimizer does.
  void refresh_compute();
  // The type of the computation.
  device::DType compute_type() const { return compute_type_; }

  // Swaps the groups' values with buffers laid out like them, without copying: used with the same buffers
  // twice, all is as before. Variables of an earlier forward pass keep what they had.
  void exchange_values(std::span<device::Tensor> group_buffers);

  // Values to and from the host, row-major in the parameter's shape.
  void export_values(std::size_t index, std::span<float> host) const;
  void import_values(std::size_t index, std::span<const float> host);

 private:
  // Error(internal) if it is taken, or too late.
  void claim(const std::string& name);
  void allocate_buffers();
  void place_values();

  device::Device& device_;
  std::vector<Parameter> parameters_;
  std::vector<Initializer> initializers_;
  std::vector<Buffer> buffers_;
  std::vector<float> buffer_starts_;
  std::set<std::string, std::less<>> names_;
  std::vector<ParameterGroup> groups_;
  device::DType compute_type_ = device::DType::f32;
  device::Tensor gradients_;
  device::Tensor buffer_values_;
};

}  // namespace lockstep::nn
