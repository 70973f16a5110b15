// What the stand-in for cuBLASLt computes, and what it does not let pass.
#include <cublasLt.h>
#include <cuda_bf16.h>

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "child.h"
#include "device/cuda/cuda_device.h"
#include "device_array.h"

using Catch::Contains;

namespace {

constexpr std::size_t workspace_bytes = 8192;

// d = epilogue(op(a) op(b) + beta d), column by column; a test changes what it is about.
struct Product {
  cudaDataType_t in = CUDA_R_32F;
  cudaDataType_t out = CUDA_R_32F;
  cublasOperation_t transposed_a = CUBLAS_OP_N;
  std::uint64_t a_rows = 2, a_columns = 3, b_rows = 3, b_columns = 2, d_rows = 2, d_columns = 2;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
  cudaDataType_t bias_type = CUDA_R_32F;
  std::uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  std::uint64_t workspace_limit = workspace_bytes;
  void* aux = nullptr;
  std::int64_t aux_stride = 0;
  float beta = 0.f;

  cublasLtHandle_t library = nullptr;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
  cublasLtMatmulHeuristicResult_t choice{};

  template <typename T>
  void set(cublasLtMatmulDescAttributes_t name, T value) {
    cublasLtMatmulDescSetAttribute(operation, name, &value, sizeof value);
  }

  void make() {
    cublasLtCreate(&library);
    cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    set(CUBLASLT_MATMUL_DESC_TRANSA, transposed_a);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, bias_type);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aux);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, aux_stride);
    cublasLtMatrixLayoutCreate(&a, in, a_rows, a_columns, static_cast<std::int64_t>(a_rows));
    cublasLtMatrixLayoutCreate(&b, in, b_rows, b_columns, static_cast<std::int64_t>(b_rows));
    cublasLtMatrixLayoutCreate(&d, out, d_rows, d_columns, static_cast<std::int64_t>(d_rows));
  }

  void choose() {
    cublasLtMatmulPreference_t preference = nullptr;
    cublasLtMatmulPreferenceCreate(&preference);
    cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                         &workspace_limit, sizeof workspace_limit);
    cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reductions,
                                         sizeof reductions);
    int found = 0;
    cublasLtMatmulAlgoGetHeuristic(library, operation, a, b, d, d, preference, 1, &choice, &found);
    cublasLtMatmulPreferenceDestroy(preference);
  }

  cublasStatus_t run(const void* a_data, const void* b_data, void* d_data, void* workspace,
                     const Stream& stream) {
    const float alpha = 1.f;
    return cublasLtMatmul(library, operation, &alpha, a_data, a, b_data, b, &beta, d_data, d, d_data, d,
                          &choice.algo, workspace, choice.workspaceSize, stream.get());
  }

  void destroy() {
    cublasLtMatrixLayoutDestroy(a);
    cublasLtMatrixLayoutDestroy(b);
    cublasLtMatrixLayoutDestroy(d);
    cublasLtMatmulDescDestroy(operation);
    cublasLtDestroy(library);
  }
};

// What is said when the product, changed, is made, chosen for and run.
std::string words_of(
    const std::function<void(Product&)>& change,
    const std::function<void(Product&)>& change_later = [](Product&) {}) {
  return death_of([&] {
    Product product;
    change(product);
    product.make();
    product.choose();
    change_later(product);
    const Stream stream;
    const DeviceArray<float> data(128);
    const DeviceArray<std::uint8_t> workspace(workspace_bytes);
    product.run(data.data(), data.data(), data.data() + 64, workspace.data(), stream);
  });
}

}  // namespace

TEST_CASE("a product of matrices column by column, transposed, added to, in f32", "[fake_gpu]") {
  const auto check = [](Product product, bool biased, const std::vector<float>& wanted) {
    CHECK(complaints_of([&] {
            const Stream stream;
            const DeviceArray<float> a({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}, stream);
            const DeviceArray<float> b({1.f, 0.f, -1.f, 2.f, 1.f, 0.f}, stream);
            const DeviceArray<float> d({100.f, 200.f, 300.f, 400.f}, stream);
            const DeviceArray<float> bias({3.f, 5.f}, stream);
            const DeviceArray<std::uint8_t> workspace(workspace_bytes);
            if (biased) product.bias = bias.data();
            product.make();
            product.choose();
            EXPECT(product.run(a.data(), b.data(), d.data(), workspace.data(), stream) ==
                   CUBLAS_STATUS_SUCCESS);
            EXPECT(d.values(stream) == wanted);
            EXPECT(workspace.values(stream)[0] == 0xa5);
            product.destroy();
          }) == "");
  };
  Product product;  // A = [1 3 5; 2 4 6]
  check(product, false, {-4.f, -4.f, 5.f, 8.f});
  product.epilogue = CUBLASLT_EPILOGUE_RELU_BIAS;
  check(product, true, {0.f, 1.f, 8.f, 13.f});
  Product transposed;  // A = [1 2 3; 4 5 6]
  transposed.transposed_a = CUBLAS_OP_T;
  transposed.a_rows = 3;
  transposed.a_columns = 2;
  transposed.beta = 1.f;
  check(transposed, false, {98.f, 198.f, 304.f, 413.f});
}

TEST_CASE("GELU's input goes to a matrix of its own", "[fake_gpu]") {
  CHECK(complaints_of([] {
          const Stream stream;
          const DeviceArray<float> a({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}, stream);
          const DeviceArray<float> b({1.f, 0.f, -1.f, 2.f, 1.f, 0.f}, stream);
          const DeviceArray<float> bias({3.f, 5.f}, stream);
          const DeviceArray<float> d(4);
          const DeviceArray<float> aux(std::vector<float>(16, 7.f), stream);
          const DeviceArray<std::uint8_t> workspace(workspace_bytes);
          Product product;
          product.epilogue = CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
          product.bias = bias.data();
          product.aux = aux.data();
          product.aux_stride = 8;
          product.make();
          product.choose();
          EXPECT(product.run(a.data(), b.data(), d.data(), workspace.data(), stream) ==
                 CUBLAS_STATUS_SUCCESS);
          const std::vector<float> pre = aux.values(stream);
          EXPECT(pre == std::vector<float>({-1.f, 1.f, 7.f, 7.f, 7.f, 7.f, 7.f, 7.f,  //
                                            8.f, 13.f, 7.f, 7.f, 7.f, 7.f, 7.f, 7.f}));
          const std::vector<float> y = d.values(stream);
          EXPECT(std::abs(y[0] + 0.15880801f) < 1e-6f && std::abs(y[1] - 0.84119199f) < 1e-6f);
          EXPECT(y[2] == 8.f && y[3] == 13.f);
          product.destroy();
        }) == "");
}

TEST_CASE("a product of bf16 matrices is rounded once", "[fake_gpu]") {
  CHECK(complaints_of([] {
          const Stream stream;
          const std::vector<__nv_bfloat16> ones(3 * 2, __float2bfloat16(1.f));
          std::vector<__nv_bfloat16> factors = ones;
          factors[0] = __float2bfloat16(256.f);  // 256 + 1 + 1 = 258 in bf16; 256 + 1 would be 256
          const DeviceArray<__nv_bfloat16> a(factors, stream);
          const DeviceArray<__nv_bfloat16> b(ones, stream);
          const DeviceArray<__nv_bfloat16> d(4);
          const DeviceArray<std::uint8_t> workspace(workspace_bytes);
          Product product;
          product.in = product.out = CUDA_R_16BF;
          product.make();
          product.choose();
          EXPECT(product.run(a.data(), b.data(), d.data(), workspace.data(), stream) ==
                 CUBLAS_STATUS_SUCCESS);
          EXPECT(__bfloat162float(d.values(stream)[0]) == 258.f);
          product.destroy();
        }) == "");
}

TEST_CASE("what cuBLASLt would refuse, or what is not on the list, dies by name", "[fake_gpu]") {
  CHECK_THAT(words_of([](Product& product) { product.b_rows = 4; }), Contains("do not fit"));
  CHECK_THAT(words_of([](Product& product) { product.in = CUDA_R_64F; }),
             Contains("type 1 is not on the list"));
  CHECK_THAT(words_of([](Product& product) { product.out = CUDA_R_16F; }),
             Contains("A f32, B f32, D f16 is not on the list"));
  CHECK_THAT(words_of([](Product& product) { product.epilogue = CUBLASLT_EPILOGUE_GELU; }),
             Contains("epilogue 32 is not on the list"));
  CHECK_THAT(words_of([](Product& product) { product.epilogue = CUBLASLT_EPILOGUE_BIAS; }),
             Contains("no bias pointer"));
  CHECK_THAT(words_of([](Product& product) {
               product.epilogue = CUBLASLT_EPILOGUE_BIAS;
               product.bias = &product;
               product.bias_type = CUDA_R_16F;
             }),
             Contains("with a bias of type f16"));
  alignas(16) static std::array<float, 64> anywhere{};
  const auto gelu_words = [](float* aux, std::int64_t stride) {
    return words_of([&](Product& product) {
      product.epilogue = CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
      product.bias = anywhere.data();
      product.aux = aux;
      product.aux_stride = stride;
    });
  };
  CHECK_THAT(gelu_words(nullptr, 8), Contains("no aux pointer"));
  CHECK_THAT(gelu_words(anywhere.data(), 2),
             Contains("leading dimension of 2, wanted a multiple of 8 from 2 on"));
  CHECK_THAT(gelu_words(anywhere.data(), 0), Contains("leading dimension of 0, wanted"));
  CHECK_THAT(gelu_words(anywhere.data() + 1, 8), Contains("the aux matrix is not 16-byte aligned"));
  CHECK_THAT(
      words_of(
          [](Product& product) {
            product.epilogue = CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
            product.bias = anywhere.data();
            product.aux = anywhere.data();
            product.aux_stride = 8;
          },
          [](Product& product) { product.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, std::int64_t{16}); }),
      Contains("chosen for another product"));
  CHECK_THAT(words_of([](Product& product) { product.reductions = CUBLASLT_REDUCTION_SCHEME_MASK; }),
             Contains("reduction schemes"));
  CHECK_THAT(words_of([](Product&) {}, [](Product& product) { cublasLtMatrixLayoutDestroy(product.b); }),
             Contains("cublasLtMatmul: the matrix layout was destroyed before"));
  CHECK_THAT(words_of([](Product&) {}, [](Product& product) { cublasLtDestroy(product.library); }),
             Contains("the cuBLASLt handle was destroyed before"));
  CHECK_THAT(words_of([](Product&) {},
                      [](Product& product) { product.set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_C); }),
             Contains("operation 2 is not on the list"));
  CHECK_THAT(
      words_of([](Product&) {},
               [](Product& product) { product.set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_RELU); }),
      Contains("chosen for another product"));
  CHECK_THAT(words_of([](Product&) {}, [](Product& product) { product.choice.workspaceSize = 16; }),
             Contains("a workspace of 16 bytes, where the algorithm needs 4096"));
  CHECK_THAT(words_of([](Product&) {}, [](Product& product) { product.choice.algo = {}; }),
             Contains("does not come from the heuristic"));
}

TEST_CASE("matrices lie as the algorithm was told", "[fake_gpu]") {
  const std::string words = death_of([] {
    Product product;
    product.make();
    product.choose();
    const Stream stream;
    const DeviceArray<float> data(128);
    const DeviceArray<std::uint8_t> workspace(workspace_bytes);
    product.run(data.data() + 1, data.data(), data.data() + 64, workspace.data(), stream);
  });
  CHECK_THAT(words, Contains("A is not aligned to the 256 bytes"));
}

TEST_CASE("a fault is injected into a product, and told in words", "[fake_gpu]") {
  const auto failure_of = [](const char* fault) {
    return in_child({{"FAKE_GPU_FAULT", fault}},
                    [] {
                      lockstep::device::CudaDevice device(0);
                      const auto weight = device.empty({2, 3});
                      const auto y = device.empty({4, 2});
                      device.linear_forward(device.empty({4, 3}), weight, device.empty({2}),
                                            lockstep::device::Activation::none, {}, y);
                      device.synchronise();
                    })
        .output;
  };
  CHECK_THAT(
      failure_of("cublasLtMatmul:1:CUBLAS_STATUS_NOT_SUPPORTED"),
      Contains("cublasLtMatmul for product [4, 3] x [3, 2], f32 to f32 failed: cuBLASLt has no kernel for "
               "this product on this GPU (CUBLAS_STATUS_NOT_SUPPORTED)"));
  CHECK_THAT(failure_of("cublasLtCreate:1:CUBLAS_STATUS_ALLOC_FAILED"),
             Contains("cublasLtCreate failed: cuBLASLt found no memory for itself"));
  CHECK_THAT(failure_of("cublasLtMatmulAlgoGetHeuristic:1:CUBLAS_STATUS_ARCH_MISMATCH"),
             Contains("cuBLASLt does not know this GPU"));
  // What the library says is less than what the device has.
  CHECK_THAT(failure_of("cublasLtMatmul:1:cudaErrorECCUncorrectable"), Contains("ECC"));
}

TEST_CASE("where cuBLASLt has no product with GELU, one without it and a kernel do the same", "[fake_gpu]") {
  // The layer's output and GELU's input, twice.
  const auto values_with = [](const char* fault) {
    return in_child({{"FAKE_GPU_FAULT", fault}},
                    [] {
                      lockstep::device::CudaDevice device(0);
                      using lockstep::device::DType;
                      const auto filled = [&](const lockstep::device::Shape& shape, float value) {
                        const auto tensor = device.empty(shape, DType::bf16);
                        device.fill(value, tensor);
                        return tensor;
                      };
                      const auto bias = device.zeros({8});
                      const auto pre = filled({4, 8}, 0.f), y = filled({4, 8}, 0.f);
                      for (int turn = 0; turn < 2; ++turn) {
                        device.linear_forward(filled({4, 3}, 0.5f), filled({8, 3}, 1.f), bias,
                                              lockstep::device::Activation::gelu, pre, y);
                        for (const auto& tensor : {pre, y}) {
                          const auto wide = device.empty({4, 8});
                          device.cast(tensor, wide);
                          std::vector<float> host(32);
                          device.download(wide, host);
                          for (const float value : host) std::printf("%g ", static_cast<double>(value));
                        }
                      }
                      std::fflush(stdout);
                    })
        .output;
  };
  const std::string fused = values_with("");
  CHECK_THAT(fused, Contains("1.5 1.5") && Contains("1.39844 1.39844"));
  CHECK(values_with("cublasLtMatmulAlgoGetHeuristic:1:CUBLAS_STATUS_NOT_SUPPORTED") == fused);
  CHECK_THAT(values_with("cublasLtMatmulAlgoGetHeuristic:1:CUBLAS_STATUS_ARCH_MISMATCH"),
             Contains("cuBLASLt does not know this GPU"));
}
