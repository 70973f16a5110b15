#include "checkpoint/state.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>

#include "core/error.h"

namespace lockstep::checkpoint {

std::int64_t element_count(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

std::int64_t row_count(const std::vector<std::int64_t>& shape) {
  return shape.empty() ? 1 : shape[0];
}

std::int64_t row_bytes(const std::vector<std::int64_t>& shape) {
  std::int64_t count = sizeof(float);
  for (std::size_t i = 1; i < shape.size(); ++i) count *= shape[i];
  return count;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

namespace {

class Packer {
 public:
  template <typename T>
  void number(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void size(std::size_t value) { number(static_cast<std::int64_t>(value)); }
  void text(const std::string& value) {
    size(value.size());
    bytes_ += value;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : bytes_(bytes) {}
  template <typename T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::size_t size() { return static_cast<std::size_t>(number<std::int64_t>()); }
  std::string text() { return std::string(take(size())); }

 private:
  std::string_view take(std::size_t count) {
    if (count > bytes_.size()) throw Error(ExitCode::internal, "a packed checkpoint state ends early");
    const std::string_view part = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return part;
  }
  std::string_view bytes_;
};

}  // namespace

std::string pack(const State& state, const std::vector<TensorInfo>& tensors) {
  Packer out;
  for (const std::int64_t number : {state.step, state.samples, state.epoch}) out.number(number);
  out.size(state.values.size());
  for (const auto& [key, value] : state.values) {
    out.text(key);
    out.size(value.index());
    if (const auto* integer = std::get_if<std::int64_t>(&value)) out.number(*integer);
    if (const auto* real = std::get_if<double>(&value)) out.number(*real);
    if (const auto* text = std::get_if<std::string>(&value)) out.text(*text);
  }
  out.size(tensors.size());
  for (const TensorInfo& tensor : tensors) {
    out.text(tensor.name);
    out.size(tensor.shape.size());
    for (const std::int64_t extent : tensor.shape) out.number(extent);
  }
  return out.take();
}

void unpack(std::string_view bytes, State& state, std::vector<TensorInfo>& tensors) {
  Unpacker in(bytes);
  state = {};
  state.step = in.number<std::int64_t>();
  state.samples = in.number<std::int64_t>();
  state.epoch = in.number<std::int64_t>();
  for (std::size_t left = in.size(); left > 0; --left) {
    std::string key = in.text();
    switch (in.size()) {
      case 0:
        state.values[key] = in.number<std::int64_t>();
        break;
      case 1:
        state.values[key] = in.number<double>();
        break;
      case 2:
        state.values[key] = in.text();
        break;
      default:
        throw Error(ExitCode::internal, "a packed checkpoint state has an unknown kind of value");
    }
  }
  tensors.clear();
  for (std::size_t left = in.size(); left > 0; --left) {
    TensorInfo tensor{in.text(), {}};
    for (std::size_t extents = in.size(); extents > 0; --extents) {
      tensor.shape.push_back(in.number<std::int64_t>());
    }
    tensors.push_back(std::move(tensor));
  }
}

}  // namespace lockstep::checkpoint
