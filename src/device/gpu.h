// The GPUs of a node, and which rank computes on which: decided from what all ranks of the node see, before
// any of them uses one.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/cpu_set.h"

namespace lockstep::device {

struct Gpu {
  std::string id;       // the same for all processes that see it: GPU-... or, for a MIG instance, MIG-...
  std::string address;  // on the PCI bus, as sysfs writes it: "0000:1a:00.0"
  std::string name;     // "NVIDIA H200 sm_90"
};

// What one rank sees, in CUDA's order.
struct GpuView {
  std::vector<std::string> ids;
  std::vector<int> near;  // places in ids: the GPUs whose NUMA node has all CPUs that the rank may use
};

// Nothing is near where `cpus` or the GPU's own CPUs are not known. `sysfs`: usually "/sys".
GpuView view_of(std::span<const Gpu> gpus, const std::optional<CpuSet>& cpus, const std::string& sysfs);

// For each of a node's ranks a place in its `ids`, no GPU twice: each rank gets a near one where that works
// out for all of them, else they get GPUs in their order. Throws Error(bad_config) where there are more ranks
// than GPUs.
std::vector<int> share_gpus(std::span<const GpuView> ranks, const std::string& node);

// For messages between ranks.
std::string to_text(const GpuView& view);
GpuView gpu_view(const std::string& text);

}  // namespace lockstep::device
