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

std::filesystem::path place_beside_program() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "liblockstep_cuda.so";
}

std::string library_path() {
  if (const auto path = cuda_library_path()) return *path;
  throw Error(ExitCode::bad_config,
              fmt::format("this lockstep was built without CUDA (there is no {}): build it where nvcc, cuDNN "
                          "and NCCL are found (`make info`), or set train.device = cpu",
                          place_beside_program().string()));
}

}  // namespace

std::optional<std::string> cuda_library_path() {
  if (const char* given = std::getenv("LOCKSTEP_CUDA_LIBRARY"); given != nullptr && *given != '\0')
    return given;
  const std::filesystem::path beside = place_beside_program();
  const std::array<std::filesystem::path, 2> places{
      beside, beside.parent_path().parent_path() / "lib/lockstep" / beside.filename()};
  for (const auto& place : places) {
    if (std::filesystem::exists(place)) return place;
  }
  return std::nullopt;
}

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
