// Faults that are injected into the calls of a library: one of its own statuses, an error of CUDA's, which is
// then what the device has, or "stall".
#pragma once

#include <array>
#include <optional>
#include <string>

#include "call.h"
#include "process.h"
#include "stream.h"

namespace fake_gpu {

template <typename Status>
struct NamedStatus {
  Status value;
  const char* name;
};

// What the call is to return, if a fault is due. `failed`: what the library says where the device has failed.
template <typename Status, std::size_t count>
std::optional<Status> library_fault(const char* call, const std::array<NamedStatus<Status>, count>& statuses,
                                    Status failed) {
  std::string fault;
  if (!fault_due(call, fault)) return std::nullopt;
  for (const NamedStatus<Status>& status : statuses) {
    if (fault == status.name) return status.value;
  }
  if (fault == "stall") {
    process().runtime.stall();
    return std::nullopt;
  }
  const cudaError_t error = remember(error_named(fault));
  if (is_sticky(error)) process().runtime.lose(error);
  return failed;
}

}  // namespace fake_gpu
