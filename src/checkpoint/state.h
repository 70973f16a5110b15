// What a checkpoint holds beside tensors.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace lockstep::checkpoint {

using Value = std::variant<std::int64_t, double, std::string>;

// Position and everything else that a resumed run needs, the world size excepted (contract C1). In the file:
// numbers and short texts are attributes of the group /meta, longer texts datasets of the same names in it.
// Keys hold letters, digits, '_' and '.'; "step", "samples", "epoch", "format", "slabs" and "tensors" are
// taken. Texts hold no NUL.
struct State {
  std::int64_t step = 0;     // optimizer steps done
  std::int64_t samples = 0;  // samples used since the start of the run
  std::int64_t epoch = 0;    // epochs completed
  std::map<std::string, Value> values;

  bool operator==(const State&) const = default;
};

// A whole tensor in host memory, row-major f32, the same on every rank. The name is its path in the file
// ("model/conv1.weight"). `shape` may be empty (a scalar), and hold zeros.
struct TensorView {
  std::string name;
  std::vector<std::int64_t> shape;
  float* data = nullptr;
};

struct TensorInfo {
  std::string name;
  std::vector<std::int64_t> shape;
  bool operator==(const TensorInfo&) const = default;
};

// The number of elements; 1 for a scalar.
std::int64_t element_count(const std::vector<std::int64_t>& shape);
// A scalar counts as one row.
std::int64_t row_count(const std::vector<std::int64_t>& shape);
// Bytes of one row; 0 where a further dimension is 0.
std::int64_t row_bytes(const std::vector<std::int64_t>& shape);
// "[64, 3, 7, 7]".
std::string shape_text(const std::vector<std::int64_t>& shape);

// Bytes for sending a State or a list of tensors to other ranks; unpack throws Error(internal) on nonsense.
std::string pack(const State& state, const std::vector<TensorInfo>& tensors);
void unpack(std::string_view bytes, State& state, std::vector<TensorInfo>& tensors);

}  // namespace lockstep::checkpoint
