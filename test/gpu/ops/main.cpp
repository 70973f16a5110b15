// gpu_ops [--speed]: checks the CUDA device's operations against plain loops, or measures matrix products.
// For GPUs on machines that lack what the rest of the tests needs. Started by test/gpu/check.
#include <cstdio>
#include <exception>
#include <string_view>

#include "checks.h"
#include "device/cuda/cuda_device.h"

int main(int argc, char** argv) {
  using namespace lockstep;
  try {
    device::CudaDevice device(0);
    std::printf("%s\n", device.description().c_str());
    if (argc > 1 && std::string_view(argv[1]) == "--speed") {
      gpu_ops::measure_products(device);
      return 0;
    }
    gpu_ops::Checks checks(device);
    gpu_ops::check_elementwise(checks);
    gpu_ops::check_products(checks);
    gpu_ops::check_convolutions(checks);
    gpu_ops::check_images(checks);
    gpu_ops::check_losses(checks);
    std::printf("%d passed, %d failed\n", checks.passed(), checks.failed());
    return checks.failed() == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpu_ops: %s\n", error.what());
    return 70;
  }
}
