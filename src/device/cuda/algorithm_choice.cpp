#include "device/cuda/algorithm_choice.h"

#include <fmt/format.h>

#include "device/cuda/library_check.h"

namespace lockstep::device::cuda {

bool Refusals::add(cudnnStatus_t status, const char* call, const char* algorithm, std::string_view subject) {
  // NOT_SUPPORTED_SHAPE, NOT_SUPPORTED_LAYOUT and so on are more exact words for it.
  if (CUDNN_STATUS_CATEGORY(status) != CUDNN_STATUS_NOT_SUPPORTED) {
    cudnn_check(status, call, subject);
    return false;
  }
  text_ += fmt::format("{}{}: {}", text_.empty() ? "" : "; ", algorithm, cudnn_words(status));
  return true;
}

void Refusals::fail(const char* call, std::string_view subject) const {
  library_failed(
      call, subject,
      fmt::format("cuDNN takes it by none of its deterministic algorithms ({}); another version of "
                  "cuDNN or another train.precision may help",
                  text_));
}

}  // namespace lockstep::device::cuda
