#include "device/cuda/matrix_products.h"

#include <fmt/format.h>

#include <bit>
#include <string>
#include <utility>

#include "core/error.h"
#include "device/cuda/descriptor.h"
#include "device/cuda/library_check.h"

namespace lockstep::device::cuda {

namespace {

using Operation = Descriptor<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Layout = Descriptor<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Preference = Descriptor<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

cudaDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return CUDA_R_32F;
    case DType::bf16:
      return CUDA_R_16BF;
    case DType::f16:
      return CUDA_R_16F;
    default:
      throw Error(ExitCode::internal, fmt::format("no matrix products of type {}", name_of(dtype)));
  }
}

// Of an address, as far as algorithms care.
std::uint32_t alignment_of(const Tensor& tensor) {
  const auto address = reinterpret_cast<std::uintptr_t>(tensor.data());
  return std::uint32_t{1} << std::countr_zero(address | 256);
}

template <typename T>
void set(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t name, T value) {
  cublas_check(cublasLtMatmulDescSetAttribute(operation, name, &value, sizeof value),
               "cublasLtMatmulDescSetAttribute");
}

template <typename T>
void set(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t name, T value) {
  cublas_check(cublasLtMatmulPreferenceSetAttribute(preference, name, &value, sizeof value),
               "cublasLtMatmulPreferenceSetAttribute");
}

// cuBLASLt's matrices lie column by column: a matrix of ours is the transposed one to it.
Layout layout_of(DType dtype, std::int64_t rows, std::int64_t columns) {
  Layout layout;
  cublas_check(cublasLtMatrixLayoutCreate(layout.out(), type_of(dtype), static_cast<std::uint64_t>(columns),
                                          static_cast<std::uint64_t>(rows), columns),
               "cublasLtMatrixLayoutCreate");
  return layout;
}

cublasLtEpilogue_t epilogue_of(bool bias, bool relu) {
  if (bias) return relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
  return relu ? CUBLASLT_EPILOGUE_RELU : CUBLASLT_EPILOGUE_DEFAULT;
}

}  // namespace

struct MatrixProducts::Plan {
  Operation operation;
  Layout a, b, c;
  cublasLtMatmulAlgo_t algorithm{};
  std::size_t workspace_bytes = 0;
  std::string text;
};

MatrixProducts::MatrixProducts(Tensor workspace) : workspace_(std::move(workspace)) {
  require_shape(workspace_, {workspace_bytes}, "cuBLASLt: workspace");
  cublas_check(cublasLtCreate(library_.out()), "cublasLtCreate");
}

MatrixProducts::~MatrixProducts() = default;

MatrixProducts::Plan MatrixProducts::make_plan(const Key& key, const void* bias) const {
  Plan plan;
  plan.text = fmt::format("product [{}, {}] x [{}, {}], {} to {}", key.m, key.k, key.k, key.n,
                          name_of(key.in), name_of(key.out));
  cublas_check(cublasLtMatmulDescCreate(plan.operation.out(), CUBLAS_COMPUTE_32F, CUDA_R_32F),
               "cublasLtMatmulDescCreate");
  // c' = op(b)' op(a)', where ' transposes: what is to be transposed for us is so for cuBLASLt.
  const cublasLtMatmulDesc_t operation = plan.operation.get();
  set(operation, CUBLASLT_MATMUL_DESC_TRANSA, key.transposed_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(operation, CUBLASLT_MATMUL_DESC_TRANSB, key.transposed_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(key.bias, key.relu));
  if (key.bias) {
    set(operation, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type_of(key.out));
    set(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  }
  plan.a = key.transposed_a ? layout_of(key.in, key.k, key.m) : layout_of(key.in, key.m, key.k);
  plan.b = key.transposed_b ? layout_of(key.in, key.n, key.k) : layout_of(key.in, key.k, key.n);
  plan.c = layout_of(key.out, key.m, key.n);

  Preference preference;
  cublas_check(cublasLtMatmulPreferenceCreate(preference.out()), "cublasLtMatmulPreferenceCreate");
  set(preference.get(), CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{workspace_bytes});
  set(preference.get(), CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
      std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  set(preference.get(), CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, key.alignment_b);
  set(preference.get(), CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, key.alignment_a);
  set(preference.get(), CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, key.alignment_c);
  set(preference.get(), CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, key.alignment_c);
  cublasLtMatmulHeuristicResult_t result{};
  int found = 0;
  cublas_check(
      cublasLtMatmulAlgoGetHeuristic(library_.get(), operation, plan.b.get(), plan.a.get(), plan.c.get(),
                                     plan.c.get(), preference.get(), 1, &result, &found),
      "cublasLtMatmulAlgoGetHeuristic", plan.text);
  if (found == 0) {
    throw Error(ExitCode::internal, fmt::format("cuBLASLt has no algorithm for {}", plan.text));
  }
  cublas_check(result.state, "cublasLtMatmulAlgoGetHeuristic", plan.text);
  plan.algorithm = result.algo;
  plan.workspace_bytes = result.workspaceSize;
  return plan;
}

void MatrixProducts::multiply(cudaStream_t stream, const Factor& a, const Factor& b, const Tensor& bias,
                              Activation activation, bool accumulate, const Tensor& c) {
  const Shape& shape_a = a.matrix.shape();
  const std::int64_t m = shape_a[a.transposed ? 1 : 0];
  const std::int64_t k = shape_a[a.transposed ? 0 : 1];
  const std::int64_t n = b.matrix.shape()[b.transposed ? 0 : 1];
  const Key key{m,
                n,
                k,
                a.matrix.dtype(),
                c.dtype(),
                a.transposed,
                b.transposed,
                static_cast<bool>(bias),
                activation == Activation::relu,
                alignment_of(a.matrix),
                alignment_of(b.matrix),
                alignment_of(c)};
  std::unique_ptr<Plan>& plan = plans_[key];
  if (!plan) plan = std::make_unique<Plan>(make_plan(key, bias ? bias.data() : nullptr));
  if (bias) set(plan->operation.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias.data());
  const float alpha = 1.f;
  const float beta = accumulate ? 1.f : 0.f;
  cublas_check(
      cublasLtMatmul(library_.get(), plan->operation.get(), &alpha, b.matrix.data(), plan->b.get(),
                     a.matrix.data(), plan->a.get(), &beta, c.data(), plan->c.get(), c.data(), plan->c.get(),
                     &plan->algorithm, workspace_.data(), plan->workspace_bytes, stream),
      "cublasLtMatmul", plan->text);
}

}  // namespace lockstep::device::cuda
