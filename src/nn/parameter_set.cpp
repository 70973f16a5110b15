#include "nn/parameter_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace lockstep::nn {

namespace {

constexpr std::int64_t alignment = 256 / sizeof(float);  // elements

}  // namespace

device::Tensor Parameter::slice_of(std::span<const device::Tensor> group_buffers) const {
  return group_buffers[group].slice(offset, shape);
}

void ParameterSet::claim(const std::string& name) {
  if (groups_.empty() && names_.insert(name).second) return;
  throw Error(ExitCode::internal,
              fmt::format("{} is registered {}", name, groups_.empty() ? "twice" : "after allocation"));
}

std::size_t ParameterSet::add(const std::string& name, const device::Shape& shape,
                              const Initializer& initializer, bool weight_decay) {
  claim(name);
  Parameter& parameter = parameters_.emplace_back();
  parameter.index = parameters_.size() - 1;
  parameter.name = name;
  parameter.shape = shape;
  parameter.weight_decay = weight_decay;
  initializers_.push_back(initializer);
  return parameter.index;
}

std::size_t ParameterSet::add_buffer(const std::string& name, const device::Shape& shape, float value) {
  claim(name);
  Buffer& buffer = buffers_.emplace_back();
  buffer.name = name;
  buffer.shape = shape;
  buffer_starts_.push_back(value);
  return buffers_.size() - 1;
}

void ParameterSet::allocate_buffers() {
  if (buffers_.empty()) return;
  std::int64_t elements = 0;
  for (Buffer& buffer : buffers_) {
    buffer.offset = elements;
    elements += buffer.shape.count();
  }
  buffer_values_ = device_.empty({elements});
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    buffers_[i].value = buffers_[i].slice_of(buffer_values_);
    device_.fill(buffer_starts_[i], buffers_[i].value);
  }
}

void ParameterSet::allocate(std::uint64_t seed, device::DType compute) {
  compute_type_ = compute;
  std::int64_t all_elements = 0;
  for (const bool decay : {true, false}) {
    ParameterGroup group;
    group.weight_decay = decay;
    group.first = all_elements;
    std::int64_t elements = 0;
    for (auto parameter = parameters_.rbegin(); parameter != parameters_.rend(); ++parameter) {
      if (parameter->weight_decay != decay) continue;
      parameter->group = groups_.size();
      parameter->offset = elements;
      group.members.push_back(parameter->index);
      elements += (parameter->shape.count() + alignment - 1) / alignment * alignment;
    }
    if (group.members.empty()) continue;
    group.values = device_.zeros({elements});
    if (compute != device::DType::f32) group.compute = device_.empty({elements}, compute);
    all_elements += elements;
    groups_.push_back(std::move(group));
  }
  place_values();
  use_gradients(device_.zeros({all_elements}));
  std::vector<float> host;
  for (const Parameter& parameter : parameters_) {
    host.resize(static_cast<std::size_t>(parameter.shape.count()));
    initialize(initializers_[parameter.index], seed, parameter.name, host);
    device_.upload(host, parameter.value);
  }
  refresh_compute();
  allocate_buffers();
}

void ParameterSet::place_values() {
  for (ParameterGroup& group : groups_) {
    if (compute_type_ == device::DType::f32) group.compute = group.values;
  }
  for (Parameter& parameter : parameters_) {
    const ParameterGroup& group = groups_[parameter.group];
    parameter.value = group.values.slice(parameter.offset, parameter.shape);
    parameter.compute = group.compute.slice(parameter.offset, parameter.shape);
  }
}

void ParameterSet::refresh_compute() {
  if (compute_type_ == device::DType::f32) return;
  for (const ParameterGroup& group : groups_) device_.cast(group.values, group.compute);
}

std::int64_t ParameterSet::element_count() const {
  std::int64_t count = 0;
  for (const Parameter& parameter : parameters_) count += parameter.shape.count();
  return count;
}

const Parameter* ParameterSet::find(std::string_view name) const {
  const auto found = std::find_if(parameters_.begin(), parameters_.end(),
                                  [name](const Parameter& parameter) { return parameter.name == name; });
  return found == parameters_.end() ? nullptr : &*found;
}

void ParameterSet::exchange_values(std::span<device::Tensor> group_buffers) {
  for (std::size_t i = 0; i < groups_.size(); ++i) std::swap(groups_[i].values, group_buffers[i]);
  place_values();
  refresh_compute();
}

void ParameterSet::use_gradients(const device::Tensor& flat) {
  gradients_ = flat;
  for (ParameterGroup& group : groups_) group.gradients = flat.slice(group.first, group.values.shape());
  for (Parameter& parameter : parameters_) {
    parameter.gradient = groups_[parameter.group].gradients.slice(parameter.offset, parameter.shape);
  }
}

void ParameterSet::export_values(std::size_t index, std::span<float> host) const {
  device_.download(parameters_.at(index).value, host);
}

void ParameterSet::import_values(std::size_t index, std::span<const float> host) {
  device_.upload(host, parameters_.at(index).value);
  refresh_compute();
}

}  // namespace lockstep::nn
