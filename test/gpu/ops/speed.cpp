// How fast matrix products are: those of layers as the device makes them, beside the best that cuBLASLt has.
#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <vector>

#include "checks.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/library_check.h"

namespace lockstep::gpu_ops {

namespace {

// Seconds of one call, the median of `rounds` rounds of `calls` calls each.
double seconds_of(Device& device, const std::function<void()>& call) {
  constexpr int rounds = 7;
  constexpr int calls = 10;
  std::vector<double> times;
  for (int round = -1; round < rounds; ++round) {  // the first is to warm up
    device.synchronise();
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) call();
    device.synchronise();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    if (round >= 0) times.push_back(took.count() / calls);
  }
  std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
  return times[rounds / 2];
}

// y [n, out] = x [n, in] weight'[in, out] in bf16, by the fastest of the algorithms that cuBLASLt proposes.
double best_product(device::CudaDevice& device, const Tensor& x, const Tensor& weight, const Tensor& y) {
  using device::cuda::cublas_check;
  const std::int64_t n = x.shape()[0], in = x.shape()[1], out = weight.shape()[0];
  cublasLtHandle_t library{};
  cublasLtMatmulDesc_t operation{};
  cublasLtMatrixLayout_t a{}, b{}, c{};
  cublasLtMatmulPreference_t preference{};
  cublas_check(cublasLtCreate(&library), "cublasLtCreate");
  cublas_check(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F),
               "cublasLtMatmulDescCreate");
  const cublasOperation_t transposed = CUBLAS_OP_T;
  cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed);
  const auto unsigned_of = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  cublasLtMatrixLayoutCreate(&a, CUDA_R_16BF, unsigned_of(in), unsigned_of(out), in);
  cublasLtMatrixLayoutCreate(&b, CUDA_R_16BF, unsigned_of(in), unsigned_of(n), in);
  cublasLtMatrixLayoutCreate(&c, CUDA_R_16BF, unsigned_of(out), unsigned_of(n), out);
  cublasLtMatmulPreferenceCreate(&preference);
  const Tensor workspace = device.empty({32 << 20}, DType::u8);
  const std::uint64_t bytes = workspace.bytes();
  cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes,
                                       sizeof bytes);
#ifdef LOCKSTEP_FAKE_GPU
  const std::uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;  // knows no other
  cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reductions,
                                       sizeof reductions);
#endif
  std::array<cublasLtMatmulHeuristicResult_t, 16> found{};
  int count = 0;
  cublas_check(cublasLtMatmulAlgoGetHeuristic(library, operation, a, b, c, c, preference,
                                              static_cast<int>(found.size()), found.data(), &count),
               "cublasLtMatmulAlgoGetHeuristic");
  const float one = 1.f, zero = 0.f;
  double best = 1e9;
  for (int i = 0; i < count; ++i) {
    best = std::min(best, seconds_of(device, [&] {
                      cublas_check(
                          cublasLtMatmul(library, operation, &one, weight.data(), a, x.data(), b, &zero,
                                         y.data(), c, y.data(), c, &found[static_cast<std::size_t>(i)].algo,
                                         workspace.data(), bytes, device.stream()),
                          "cublasLtMatmul");
                    }));
  }
  cublasLtMatmulPreferenceDestroy(preference);
  for (const cublasLtMatrixLayout_t layout : {a, b, c}) cublasLtMatrixLayoutDestroy(layout);
  cublasLtMatmulDescDestroy(operation);
  cublasLtDestroy(library);
  return best;
}

void measure(device::CudaDevice& device, std::int64_t n, std::int64_t in, std::int64_t out) {
  const Tensor x = upload(device, {n, in}, full_values(n * in, 1), DType::bf16);
  const Tensor weight = upload(device, {out, in}, full_values(out * in, 2), DType::bf16);
  const Tensor y = device.empty({n, out}, DType::bf16), dx = device.empty({n, in}, DType::bf16);
  const Tensor bias = device.zeros({out}), dweight = device.zeros({out, in}), dbias = device.zeros({out});
  const double operations = 2. * static_cast<double>(n) * static_cast<double>(in) * static_cast<double>(out);
  const double best = best_product(device, x, weight, y);
  const double forward =
      seconds_of(device, [&] { device.linear_forward(x, weight, bias, device::Activation::relu, {}, y); });
  const double data = seconds_of(device, [&] { device.linear_backward_data(y, weight, dx); });
  const double weights =
      seconds_of(device, [&] { device.linear_backward_weights(x, y, true, dweight, dbias); });
  std::printf("| [%lld, %lld] to %lld |", static_cast<long long>(n), static_cast<long long>(in),
              static_cast<long long>(out));
  for (const double seconds : {best, forward, data, weights}) {
    std::printf(" %.1f (%.0f %%) |", operations / seconds * 1e-12, 100. * best / seconds);
  }
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

void measure_products(device::CudaDevice& device) {
  std::printf(
      "| bf16, TFLOP/s (share of the best) | cuBLASLt's best of 16 | forward, bias, ReLU | backward, data | "
      "backward, weights |\n| --- | --- | --- | --- | --- |\n");
#ifdef LOCKSTEP_FAKE_GPU
  measure(device, 64, 64, 64);
#else
  measure(device, 8192, 8192, 8192);
  measure(device, 1024, 4096, 4096);
  measure(device, 256, 4096, 4096);
#endif
}

}  // namespace lockstep::gpu_ops
