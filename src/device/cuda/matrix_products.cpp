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

// GELU's input is a matrix of its own to cuBLASLt, whose leading dimension is a multiple of so many elements.
constexpr std::int64_t pre_stride = 8;
constexpr std::uint32_t pre_alignment = 16;  // bytes

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

// Where the epilogue finds its bias, and GELU puts its input. Those that are empty are not used.
void set_addresses(cublasLtMatmulDesc_t operation, const Tensor& bias, const Tensor& pre) {
  if (bias) set(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias.data());
  if (pre) set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, pre.data());
}

// cuBLASLt's matrices lie column by column: a matrix of ours is the transposed one to it.
Layout layout_of(DType dtype, std::int64_t rows, std::int64_t columns) {
  Layout layout;
  cublas_check(cublasLtMatrixLayoutCreate(layout.out(), type_of(dtype), static_cast<std::uint64_t>(columns),
                                          static_cast<std::uint64_t>(rows), columns),
               "cublasLtMatrixLayoutCreate");
  return layout;
}

cublasLtEpilogue_t epilogue_of(bool bias, Activation activation) {
  if (activation == Activation::gelu) return CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
  const bool relu = activation == Activation::relu;
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

std::unique_ptr<MatrixProducts::Plan> MatrixProducts::make_plan(const Key& key, const Tensor& bias,
                                                                const Tensor& pre) const {
  auto plan = std::make_unique<Plan>();
  plan->text = fmt::format("product [{}, {}] x [{}, {}], {} to {}", key.m, key.k, key.k, key.n,
                           name_of(key.in), name_of(key.out));
  cublas_check(cublasLtMatmulDescCreate(plan->operation.out(), CUBLAS_COMPUTE_32F, CUDA_R_32F),
               "cublasLtMatmulDescCreate");
  // c' = op(b)' op(a)', where ' transposes: what is to be transposed for us is so for cuBLASLt.
  const cublasLtMatmulDesc_t operation = plan->operation.get();
  set(operation, CUBLASLT_MATMUL_DESC_TRANSA, key.transposed_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(operation, CUBLASLT_MATMUL_DESC_TRANSB, key.transposed_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(key.bias, key.activation));
  if (key.bias) set(operation, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type_of(key.out));
  if (pre) set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, key.n);
  set_addresses(operation, bias, pre);  // the heuristic looks at their alignment
  plan->a = key.transposed_a ? layout_of(key.in, key.k, key.m) : layout_of(key.in, key.m, key.k);
  plan->b = key.transposed_b ? layout_of(key.in, key.n, key.k) : layout_of(key.in, key.k, key.n);
  plan->c = layout_of(key.out, key.m, key.n);

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
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(library_.get(), operation, plan->b.get(), plan->a.get(), plan->c.get(),
                                     plan->c.get(), preference.get(), 1, &result, &found);
  const bool none = status == CUBLAS_STATUS_NOT_SUPPORTED || (status == CUBLAS_STATUS_SUCCESS && found == 0);
  if (none && key.activation == Activation::gelu) return nullptr;
  cublas_check(status, "cublasLtMatmulAlgoGetHeuristic", plan->text);
  if (none) throw Error(ExitCode::internal, fmt::format("cuBLASLt has no algorithm for {}", plan->text));
  cublas_check(result.state, "cublasLtMatmulAlgoGetHeuristic", plan->text);
  plan->algorithm = result.algo;
  plan->workspace_bytes = result.workspaceSize;
  return plan;
}

MatrixProducts::Key MatrixProducts::key_of(const Factor& a, const Factor& b, const Tensor& bias,
                                           Activation activation, const Tensor& pre, const Tensor& c) {
  const Shape& shape_a = a.matrix.shape();
  return {shape_a[a.transposed ? 1 : 0],
          b.matrix.shape()[b.transposed ? 0 : 1],
          shape_a[a.transposed ? 0 : 1],
          a.matrix.dtype(),
          c.dtype(),
          a.transposed,
          b.transposed,
          static_cast<bool>(bias),
          activation,
          alignment_of(a.matrix),
          alignment_of(b.matrix),
          alignment_of(c),
          pre ? alignment_of(pre) : 0};
}

MatrixProducts::Plan* MatrixProducts::find(const Key& key, const Tensor& bias, const Tensor& pre) {
  auto at = plans_.find(key);
  if (at == plans_.end()) at = plans_.emplace(key, make_plan(key, bias, pre)).first;
  Plan* plan = at->second.get();
  if (plan != nullptr) set_addresses(plan->operation.get(), bias, pre);
  return plan;
}

void MatrixProducts::run(const Plan& plan, cudaStream_t stream, const Factor& a, const Factor& b, float beta,
                         const Tensor& c) {
  const float alpha = 1.f;
  cublas_check(cublasLtMatmul(library_.get(), plan.operation.get(), &alpha, b.matrix.data(), plan.b.get(),
                              a.matrix.data(), plan.a.get(), &beta, c.data(), plan.c.get(), c.data(),
                              plan.c.get(), &plan.algorithm, workspace_.data(), plan.workspace_bytes, stream),
               "cublasLtMatmul", plan.text);
}

void MatrixProducts::multiply(cudaStream_t stream, const Factor& a, const Factor& b, const Tensor& bias,
                              Activation activation, bool accumulate, const Tensor& c) {
  const Plan* plan = find(key_of(a, b, bias, activation, {}, c), bias, {});
  run(*plan, stream, a, b, accumulate ? 1.f : 0.f, c);
}

bool MatrixProducts::multiply_gelu(cudaStream_t stream, const Factor& a, const Factor& b, const Tensor& bias,
                                   const Tensor& pre, const Tensor& c) {
  const Key key = key_of(a, b, bias, Activation::gelu, pre, c);
  if (key.n % pre_stride != 0 || key.alignment_pre < pre_alignment) return false;
  const Plan* plan = find(key, bias, pre);
  if (plan == nullptr) return false;
  run(*plan, stream, a, b, 0.f, c);
  return true;
}

}  // namespace lockstep::device::cuda
