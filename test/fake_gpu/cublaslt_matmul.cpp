// The stand-in for cuBLASLt: the choice of an algorithm, and the product.
#include <cmath>
#include <cstring>
#include <string>

#include "cublaslt.h"

namespace fake_gpu::blas {

namespace {

// Every matrix of a product, checked against the others.
struct Product {
  Operation operation;
  Layout a, b, d;
  std::size_t k;
};

[[noreturn]] void refuse(const char* call, const std::string& why) {
  die(std::string(call) + ": " + why);
}

std::string size_text(const Layout& layout, bool transposed) {
  return std::to_string(layout.rows) + " x " + std::to_string(layout.columns) +
         (transposed ? " transposed" : "");
}

// The types that the real library takes with f32 inside, of "Supported data types" in its documentation of
// cublasLtMatmul: a bias has the type of D.
void check_types(const char* call, const Product& product) {
  const auto types = [&] {
    return std::string("A ") + name_of(product.a.type) + ", B " + name_of(product.b.type) + ", D " +
           name_of(product.d.type);
  };
  const bool same_in = product.a.type == product.b.type;
  const bool out = product.d.type == product.a.type || product.d.type == Number::f32;
  if (!same_in || !out) refuse(call, types() + " is not on the list");
  if (!has_bias(product.operation.epilogue)) return;
  if (product.operation.bias == nullptr) refuse(call, "an epilogue with a bias, but no bias pointer");
  const Number bias = product.operation.bias_type.value_or(product.d.type);
  if (bias != product.d.type) refuse(call, types() + " with a bias of type " + name_of(bias));
  if (reinterpret_cast<std::uintptr_t>(product.operation.bias) % 16 != 0) {
    refuse(call, "the bias is not 16-byte aligned");
  }
}

// Of GELU's input: of D's type where nothing is said.
Layout aux_layout(const Product& product) {
  return {product.d.type, product.d.rows, product.d.columns,
          static_cast<std::size_t>(product.operation.aux_stride)};
}

void check_aux(const char* call, const Product& product) {
  const Operation& operation = product.operation;
  if (!has_gelu(operation.epilogue)) return;
  if (operation.aux == nullptr) refuse(call, "an epilogue with an aux matrix, but no aux pointer");
  if (operation.aux_stride % 8 != 0 || operation.aux_stride < static_cast<std::int64_t>(product.d.rows)) {
    refuse(call, "the aux matrix has a leading dimension of " + std::to_string(operation.aux_stride) +
                     ", wanted a multiple of 8 from " + std::to_string(product.d.rows) + " on");
  }
  if (reinterpret_cast<std::uintptr_t>(operation.aux) % 16 != 0) {
    refuse(call, "the aux matrix is not 16-byte aligned");
  }
}

Product checked(const char* call, cublasLtMatmulDesc_t operation_handle, cublasLtMatrixLayout_t a,
                cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d) {
  Product product{operations().at(operation_handle, call), layouts().at(a, call), layouts().at(b, call),
                  layouts().at(d, call), 0};
  const Layout& c_layout = layouts().at(c, call);
  const Operation& operation = product.operation;
  const std::size_t m = operation.transposed_a ? product.a.columns : product.a.rows;
  const std::size_t n = operation.transposed_b ? product.b.rows : product.b.columns;
  const std::size_t k_of_b = operation.transposed_b ? product.b.columns : product.b.rows;
  product.k = operation.transposed_a ? product.a.rows : product.a.columns;
  if (product.k != k_of_b || product.d.rows != m || product.d.columns != n) {
    refuse(call, "A " + size_text(product.a, operation.transposed_a) + ", B " +
                     size_text(product.b, operation.transposed_b) + ", D " + size_text(product.d, false) +
                     " do not fit");
  }
  if (c_layout.type != product.d.type || c_layout.rows != m || c_layout.columns != n ||
      c_layout.stride != product.d.stride) {
    refuse(call, "C and D of different layouts are not on the list");
  }
  check_types(call, product);
  check_aux(call, product);
  return product;
}

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

std::uint64_t digest(const Product& product) {
  std::uint64_t hash = 1;
  for (const Layout* layout : {&product.a, &product.b, &product.d}) {
    hash = mix(hash, static_cast<std::uint64_t>(layout->type));
    hash = mix(hash, layout->rows);
    hash = mix(hash, layout->columns);
    hash = mix(hash, layout->stride);
  }
  hash = mix(hash, static_cast<std::uint64_t>(product.operation.aux_stride));
  hash = mix(hash, product.operation.transposed_a ? 1 : 0);
  hash = mix(hash, product.operation.transposed_b ? 1 : 0);
  return mix(hash, static_cast<std::uint64_t>(product.operation.epilogue));
}

// What lies in the 8 words of a cublasLtMatmulAlgo_t.
struct Algorithm {
  std::uint64_t magic, product, workspace_bytes, alignment_a, alignment_b, alignment_d, alignment_aux;
};
constexpr std::uint64_t magic = 0x4c6f636b73746570u;
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

Algorithm algorithm_of(const cublasLtMatmulAlgo_t& opaque, const char* call) {
  Algorithm algorithm;
  std::memcpy(&algorithm, opaque.data, sizeof algorithm);
  if (algorithm.magic != magic) refuse(call, "this algorithm does not come from the heuristic");
  return algorithm;
}

void check_alignment(const char* call, const char* name, const void* address, std::uint64_t alignment) {
  if (reinterpret_cast<std::uintptr_t>(address) % alignment != 0) {
    refuse(call, std::string(name) + " is not aligned to the " + std::to_string(alignment) +
                     " bytes that the algorithm was chosen for");
  }
}

// Of an address when an algorithm is asked for: what is used later may not lie worse.
std::uint64_t alignment_of(const void* address) {
  const auto bits = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(address)) | 256u;
  return bits & (~bits + 1);
}

std::size_t span_bytes(const Layout& layout) {
  return ((layout.columns - 1) * layout.stride + layout.rows) * bytes_of(layout.type);
}

// op(matrix), transposed: dense, row by row.
std::vector<float> rows_of(const void* data, const Layout& layout, bool transposed_operand) {
  std::vector<float> values(layout.rows * layout.columns);
  for (std::size_t column = 0; column < layout.columns; ++column) {
    for (std::size_t row = 0; row < layout.rows; ++row) {
      values[column * layout.rows + row] = load(data, layout.type, column * layout.stride + row);
    }
  }
  return transposed_operand ? transposed(values, layout.columns, layout.rows) : values;
}

float gelu(float x) {
  return 0.5f * x * (1.f + std::tanh(0.7978845608f * (x + 0.044715f * x * x * x)));
}

void compute(const Product& product, float alpha, const void* a, const void* b, float beta, void* d) {
  const Layout& out = product.d;
  const bool biased = has_bias(product.operation.epilogue);
  const bool relu = (product.operation.epilogue & CUBLASLT_EPILOGUE_RELU) != 0;
  const bool with_gelu = has_gelu(product.operation.epilogue);
  std::vector<float> sums(out.rows * out.columns, 0.f);
  multiply(out.columns, out.rows, product.k, rows_of(b, product.b, product.operation.transposed_b).data(),
           rows_of(a, product.a, product.operation.transposed_a).data(), sums.data());
  for (std::size_t column = 0; column < out.columns; ++column) {
    for (std::size_t row = 0; row < out.rows; ++row) {
      const std::size_t place = column * out.stride + row;
      float value = alpha * sums[column * out.rows + row];
      if (beta != 0.f) value += beta * load(d, out.type, place);
      if (biased) value += load(product.operation.bias, out.type, row);
      // NaN becomes 0: cuBLASLt says max(x, 0), which promises no more.
      if (relu) value = value > 0.f ? value : 0.f;
      if (with_gelu) {
        store(value, product.operation.aux, out.type, column * aux_layout(product).stride + row);
        value = gelu(value);
      }
      store(value, d, out.type, place);
    }
  }
}

}  // namespace

}  // namespace fake_gpu::blas

using fake_gpu::Access;
using namespace fake_gpu::blas;

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t library, cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference_handle, int requested,
                                              cublasLtMatmulHeuristicResult_t results[], int* returned) {
  constexpr const char* call = "cublasLtMatmulAlgoGetHeuristic";
  libraries().at(library, call);
  const Product product = checked(call, operation, a, b, c, d);
  const Preference& preference = preferences().at(preference_handle, call);
  if (requested < 1) refuse(call, "no result is asked for");
  // In-place and 16-bit partial sums are not what exact sums are made of.
  if ((preference.reductions & ~static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE)) != 0) {
    refuse(call, "reduction schemes other than COMPUTE_TYPE are not on the list");
  }
  *returned = 0;
  if (const auto status = fault(call)) return *status;
  const Algorithm algorithm{magic,
                            digest(product),
                            preference.workspace_bytes < 4096 ? 0u : 4096u,
                            preference.alignment_a,
                            preference.alignment_b,
                            preference.alignment_d,
                            alignment_of(product.operation.aux)};
  results[0] = {};
  std::memcpy(results[0].algo.data, &algorithm, sizeof algorithm);
  results[0].workspaceSize = algorithm.workspace_bytes;
  results[0].state = CUBLAS_STATUS_SUCCESS;
  *returned = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t library, cublasLtMatmulDesc_t operation, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                              cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                              cublasLtMatrixLayout_t c_layout, void* d, cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* opaque, void* workspace,
                              std::size_t workspace_bytes, cudaStream_t stream) {
  constexpr const char* call = "cublasLtMatmul";
  libraries().at(library, call);
  const Product product = checked(call, operation, a_layout, b_layout, c_layout, d_layout);
  if (alpha == nullptr || beta == nullptr) refuse(call, "alpha and beta must be addresses on the host");
  if (a == nullptr || b == nullptr || d == nullptr || c != d) {
    refuse(call, "null matrices, or C and D apart, are not on the list");
  }
  if (opaque == nullptr) refuse(call, "without an algorithm is not on the list");
  const Algorithm algorithm = algorithm_of(*opaque, call);
  if (algorithm.product != digest(product)) refuse(call, "the algorithm was chosen for another product");
  check_alignment(call, "A", a, algorithm.alignment_a);
  check_alignment(call, "B", b, algorithm.alignment_b);
  check_alignment(call, "D", d, algorithm.alignment_d);
  if (has_gelu(product.operation.epilogue)) {
    check_alignment(call, "the aux matrix", product.operation.aux, algorithm.alignment_aux);
  }
  if (workspace_bytes < algorithm.workspace_bytes || (workspace_bytes != 0 && workspace == nullptr)) {
    refuse(call, "a workspace of " + std::to_string(workspace_bytes) + " bytes, where the algorithm needs " +
                     std::to_string(algorithm.workspace_bytes));
  }
  check_alignment(call, "the workspace", workspace, 256);
  if (const auto status = fault(call)) return *status;

  float alpha_value;
  float beta_value;
  std::memcpy(&alpha_value, alpha, sizeof alpha_value);
  std::memcpy(&beta_value, beta, sizeof beta_value);
  const bool dense = product.d.stride == product.d.rows;
  std::vector<Access> accesses{
      {a, span_bytes(product.a), Access::read},
      {b, span_bytes(product.b), Access::read},
      {d, span_bytes(product.d), beta_value == 0.f && dense ? Access::write : Access::update}};
  if (has_bias(product.operation.epilogue)) {
    accesses.push_back({product.operation.bias, product.d.rows * bytes_of(product.d.type), Access::read});
  }
  if (has_gelu(product.operation.epilogue)) {
    const Layout aux = aux_layout(product);
    accesses.push_back(
        {product.operation.aux, span_bytes(aux), aux.stride == aux.rows ? Access::write : Access::update});
  }
  // The real library may write to all of it.
  if (workspace_bytes != 0) accesses.push_back({workspace, workspace_bytes, Access::write});
  const cudaError_t error = fake_gpu::enqueue(stream, call, std::move(accesses), [=] {
    if (workspace_bytes != 0) std::memset(workspace, 0xa5, algorithm.workspace_bytes);
    compute(product, alpha_value, a, b, beta_value, d);
    return true;
  });
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
