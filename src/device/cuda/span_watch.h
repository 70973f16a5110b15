// What spans of a trace become on a GPU: ranges for NVIDIA's profilers (NVTX, domain "lockstep"), and pieces
// of the GPU's own timeline.
#pragma once

#include <string>

#include "core/trace.h"
#include "device/cuda/timeline.h"

namespace lockstep::device::cuda {

class SpanWatch final : public SpanObserver {
 public:
  // Both must outlive this.
  SpanWatch(Timeline& timeline, const Stream& compute) : timeline_(timeline), compute_(compute) {}

  void begin(std::string_view name, std::string_view category, Row row) noexcept override;
  void end(std::string_view category, Row row) noexcept override;

 private:
  Timeline& timeline_;
  const Stream& compute_;
  int depth_ = 0;  // of the training thread's spans
};

}  // namespace lockstep::device::cuda
