#include "cli/version.h"

#include <fmt/format.h>
#include <hdf5.h>
#include <mpi.h>
#include <xxhash.h>
#include <oneapi/dnnl/dnnl.hpp>

#include <boost/version.hpp>

#include "device/cuda_library.h"

namespace lockstep::cli {

namespace {

std::string hdf5_running() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  H5get_libversion(&major, &minor, &release);
  return fmt::format("{}.{}.{}", major, minor, release);
}

// "Open MPI v4.1.4, package: ..." up to the first comma.
std::string mpi_running() {
  std::string text(MPI_MAX_LIBRARY_VERSION_STRING, '\0');
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  text.resize(static_cast<std::size_t>(length));
  return text.substr(0, text.find(','));
}

const char* instruction_set(dnnl::cpu_isa isa) {
  switch (isa) {
    case dnnl::cpu_isa::sse41:
      return "SSE4.1";
    case dnnl::cpu_isa::avx:
      return "AVX";
    case dnnl::cpu_isa::avx2:
      return "AVX2";
    case dnnl::cpu_isa::avx2_vnni:
      return "AVX2 VNNI";
    case dnnl::cpu_isa::avx512_core:
      return "AVX-512";
    case dnnl::cpu_isa::avx512_core_vnni:
      return "AVX-512 VNNI";
    case dnnl::cpu_isa::avx512_core_bf16:
      return "AVX-512 BF16";
    case dnnl::cpu_isa::avx512_core_amx:
      return "AMX";
    default:
      return "unnamed";
  }
}

}  // namespace

std::string version_text() {
  const auto* dnnl = dnnl::version();
  const unsigned xxh = XXH_versionNumber();
  return fmt::format(
      "lockstep {} ({})\n"
      "compiler      {}\n"
      "MPI           built with Open MPI {}.{}.{}, running {}\n"
      "HDF5          built with {}.{}.{}, running {}\n"
      "oneDNN        built with {}.{}.{}, running {}.{}.{}, instruction set {}\n"
      "Boost         built with {}.{}.{}\n"
      "fmt           built with {}.{}.{}\n"
      "xxHash        built with {}.{}.{}, running {}.{}.{}\n"
      "CUDA, NCCL    {}\n",
      LOCKSTEP_VERSION, LOCKSTEP_GIT, __VERSION__, OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION,
      OMPI_RELEASE_VERSION, mpi_running(), H5_VERS_MAJOR, H5_VERS_MINOR, H5_VERS_RELEASE, hdf5_running(),
      DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR, DNNL_VERSION_PATCH, dnnl->major, dnnl->minor, dnnl->patch,
      instruction_set(dnnl::get_effective_cpu_isa()), BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000,
      BOOST_VERSION % 100, FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100, XXH_VERSION_MAJOR,
      XXH_VERSION_MINOR, XXH_VERSION_RELEASE, xxh / 10000, xxh / 100 % 100, xxh % 100,
      device::cuda_library_path().value_or("not built in"));
}

}  // namespace lockstep::cli
