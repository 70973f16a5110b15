#include "device/cuda_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "core/error.h"

namespace lockstep::device {

namespace {

std::string library_path() {
  if (const char* given = std::getenv("LOCKSTEP_CUDA_LIBRARY"); given != nullptr && *given != '\0')
    return given;
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::array<std::filesystem::path, 2> places{
      folder / "liblockstep_cuda.so", folder.parent_path() / "lib/lockstep/liblockstep_cuda.so"};
  for (const auto& place : places) {
    if (std::filesystem::exists(place)) return place;
  }
  throw Error(ExitCode::bad_config,
              fmt::format("this lockstep was built without CUDA (there is no {}): build it where nvcc, cuDNN "
                          "and NCCL are found (`make info`), or set train.device = cpu",
                          places[0].string()));
}

}  // namespace

CudaLibrary::CudaLibrary() : path_(library_path()) {
  handle_ = ::dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle_ == nullptr) {
    throw Error(ExitCode::bad_config,
                fmt::format("the CUDA backend cannot be loaded: {}: are the libraries that it was built with "
                            "on this node (module load cuda, LD_LIBRARY_PATH)?",
                            ::dlerror()));
  }
  if (std::string_view(backend().version) != LOCKSTEP_VERSION) {
    throw Error(ExitCode::bad_config,
                fmt::format("{} belongs to Lockstep {}, and this is {}: install both anew", path_,
                            backend().version, LOCKSTEP_VERSION));
  }
}

const CudaBackend& CudaLibrary::backend() const {
  return *static_cast<const CudaBackend*>(find("lockstep_cuda_backend"));
}

const void* CudaLibrary::find(const char* name) const {
  const void* found = ::dlsym(handle_, name);
  if (found == nullptr) throw Error(ExitCode::internal, fmt::format("{} has no {}", path_, name));
  return found;
}

}  // namespace lockstep::device
