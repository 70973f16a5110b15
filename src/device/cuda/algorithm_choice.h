// Which of cuDNN's algorithms one call of a convolution takes, and the workspace that this needs: the first
// of a fixed list that cuDNN does not refuse as not supported. What it refuses depends on shape, library and
// GPU alone, so the choice is the same on all ranks and at each start.
#pragma once

#include <cudnn.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "device/tensor.h"

namespace lockstep::device::cuda {

template <typename Algorithm>
struct NamedAlgorithm {
  Algorithm value;
  const char* name;
};

// Gives that many bytes, which are used until the tensor is gone.
using Workspace = std::function<Tensor(std::int64_t bytes)>;

// What cuDNN has refused so far, for the error if nothing is left.
class Refusals {
 public:
  // Whether `call` with `algorithm` was refused, which is noted. Throws as cudnn_check() on any other
  // failure.
  bool add(cudnnStatus_t status, const char* call, const char* algorithm, std::string_view subject);
  [[noreturn]] void fail(const char* call, std::string_view subject) const;

 private:
  std::string text_;
};

template <typename Algorithm>
class AlgorithmChoice {
 public:
  // The calls' names, for errors, and the list, which must live as long.
  AlgorithmChoice(const char* size_call, const char* call, std::span<const NamedAlgorithm<Algorithm>> list)
      : size_call_(size_call), call_(call), list_(list) {}

  // Runs size(algorithm, &bytes), once for each algorithm, and run(algorithm, workspace), which return
  // cuDNN's status; what was refused is never tried again. `subject` is the convolution. Throws
  // Error(internal) if none is left.
  template <typename Size, typename Run>
  void run(std::string_view subject, const Workspace& workspace, Size size, Run run) {
    for (; next_ < list_.size(); ++next_, bytes_ = 0) {
      const NamedAlgorithm<Algorithm>& algorithm = list_[next_];
      if (bytes_ == 0) {
        std::size_t bytes = 0;
        if (refusals_.add(size(algorithm.value, &bytes), size_call_, algorithm.name, subject)) continue;
        bytes_ = std::max(static_cast<std::int64_t>(bytes), std::int64_t{1});
      }
      if (!refusals_.add(run(algorithm.value, workspace(bytes_)), call_, algorithm.name, subject)) return;
    }
    refusals_.fail(call_, subject);
  }

 private:
  const char* size_call_;
  const char* call_;
  std::span<const NamedAlgorithm<Algorithm>> list_;
  std::size_t next_ = 0;    // the first of the list that was not refused
  std::int64_t bytes_ = 0;  // of its workspace; 0: not asked yet
  Refusals refusals_;
};

}  // namespace lockstep::device::cuda
