#include "device/cuda/span_watch.h"

#include <nvtx3/nvToolsExt.h>

#include <string>

namespace lockstep::device::cuda {

namespace {

// NVTX is a header that looks for a profiler's library when it is first called; without one a call is a look
// at a null pointer.
nvtxDomainHandle_t domain() {
  static const nvtxDomainHandle_t made = nvtxDomainCreateA("lockstep");
  return made;
}

void push_range(const std::string& name) {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = name.c_str();
  nvtxDomainRangePushEx(domain(), &attributes);
}

// The others wait for data, for ranks or for disks: the GPU has no part in them.
bool is_work(std::string_view category) {
  return category == "compute" || category == "reduction";
}

}  // namespace

void SpanWatch::begin(std::string_view name, std::string_view category, Row row) noexcept {
  push_range(std::string(name));
  if (row != Row::training) return;
  ++depth_;
  if (is_work(category)) timeline_.begin(Row::gpu_compute, name, category, compute_.get());
}

void SpanWatch::end(std::string_view category, Row row) noexcept {
  nvtxDomainRangePop(domain());
  if (row != Row::training) return;
  if (is_work(category)) timeline_.end(Row::gpu_compute, compute_.get());
  // After all that the step has waited for by itself.
  if (--depth_ == 0) timeline_.collect();
}

}  // namespace lockstep::device::cuda
