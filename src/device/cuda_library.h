// The CUDA backend is a library of its own, liblockstep_cuda.so, which is loaded when a GPU is wanted: the
// program needs none of NVIDIA's libraries to start, and runs on nodes that have none.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/device.h"
#include "device/gpu.h"

namespace lockstep::device {

// What the library offers, exported as `lockstep_cuda_backend`.
struct CudaBackend {
  const char* version;  // must be the program's
  // As open_device.h has them.
  std::vector<Gpu> (*gpus)(std::string& reason);
  std::unique_ptr<Device> (*open)(int place, double memory_share);
};

// Where the library is: LOCKSTEP_CUDA_LIBRARY if the environment has it, else beside the program or in
// ../lib/lockstep. Nothing where there is none.
std::optional<std::string> cuda_library_path();

class CudaLibrary {
 public:
  // Loads it; once loaded it stays. Throws Error(bad_config) that says what is missing.
  CudaLibrary();

  const CudaBackend& backend() const;
  // An exported object, for other folders' entry points. Throws Error(internal) where there is none.
  const void* find(const char* name) const;

 private:
  void* handle_;  // never closed: objects of the library's classes may live to the end
  std::string path_;
};

}  // namespace lockstep::device
