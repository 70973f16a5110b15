// The GPUs of this node as the CUDA runtime sees them.
#pragma once

#include <string>
#include <vector>

#include "device/gpu.h"

namespace lockstep::device::cuda {

// Uses none of them. Where there are none, `reason` says why.
std::vector<Gpu> find_gpus(std::string& reason);

// Makes a GPU the calling thread's, and sees whether it runs our kernels. Throws Error in words.
void use_gpu(int place);

// As sysfs writes it: "0000:1a:00.0".
std::string pci_address(int place);

// Of CUDA's number for a version, 1000 major + 10 minor.
std::string version_text(int version);

}  // namespace lockstep::device::cuda
