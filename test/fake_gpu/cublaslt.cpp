// The stand-in for cuBLASLt: handles and descriptors. What is not on the list of libraries.md dies by name.
#include "cublaslt.h"

#include <array>
#include <cstring>
#include <string>

#include "library_faults.h"

namespace fake_gpu::blas {

Handles<cublasLtHandle_t, Library>& libraries() {
  static Handles<cublasLtHandle_t, Library> handles("cuBLASLt handle");
  return handles;
}

Handles<cublasLtMatrixLayout_t, Layout>& layouts() {
  static Handles<cublasLtMatrixLayout_t, Layout> handles("matrix layout");
  return handles;
}

Handles<cublasLtMatmulDesc_t, Operation>& operations() {
  static Handles<cublasLtMatmulDesc_t, Operation> handles("matmul descriptor");
  return handles;
}

Handles<cublasLtMatmulPreference_t, Preference>& preferences() {
  static Handles<cublasLtMatmulPreference_t, Preference> handles("matmul preference");
  return handles;
}

namespace {

using Status = fake_gpu::NamedStatus<cublasStatus_t>;

constexpr std::array statuses{
    Status{CUBLAS_STATUS_SUCCESS, "CUBLAS_STATUS_SUCCESS"},
    Status{CUBLAS_STATUS_NOT_INITIALIZED, "CUBLAS_STATUS_NOT_INITIALIZED"},
    Status{CUBLAS_STATUS_ALLOC_FAILED, "CUBLAS_STATUS_ALLOC_FAILED"},
    Status{CUBLAS_STATUS_INVALID_VALUE, "CUBLAS_STATUS_INVALID_VALUE"},
    Status{CUBLAS_STATUS_ARCH_MISMATCH, "CUBLAS_STATUS_ARCH_MISMATCH"},
    Status{CUBLAS_STATUS_EXECUTION_FAILED, "CUBLAS_STATUS_EXECUTION_FAILED"},
    Status{CUBLAS_STATUS_INTERNAL_ERROR, "CUBLAS_STATUS_INTERNAL_ERROR"},
    Status{CUBLAS_STATUS_NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED"},
};

}  // namespace

std::optional<cublasStatus_t> fault(const char* call) {
  return library_fault(call, statuses, CUBLAS_STATUS_EXECUTION_FAILED);
}

Number number_of(cudaDataType_t type, const char* call) {
  if (type == CUDA_R_32F) return Number::f32;
  if (type == CUDA_R_16BF) return Number::bf16;
  if (type == CUDA_R_16F) return Number::f16;
  die(std::string(call) + ": type " + std::to_string(type) + " is not on the list");
}

bool has_bias(cublasLtEpilogue_t epilogue) {
  return epilogue == CUBLASLT_EPILOGUE_BIAS || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS || has_gelu(epilogue);
}

bool has_gelu(cublasLtEpilogue_t epilogue) {
  return epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
}

namespace {

template <typename T>
T attribute(const void* buffer, std::size_t bytes, const char* call) {
  if (buffer == nullptr || bytes != sizeof(T)) {
    die(std::string(call) + ": an attribute of " + std::to_string(sizeof(T)) + " bytes got " +
        std::to_string(bytes));
  }
  T value;
  std::memcpy(&value, buffer, sizeof value);
  return value;
}

bool transposed_by(cublasOperation_t operation, const char* call) {
  if (operation == CUBLAS_OP_N) return false;
  if (operation == CUBLAS_OP_T) return true;
  die(std::string(call) + ": operation " + std::to_string(operation) + " is not on the list");
}

cublasLtEpilogue_t known(cublasLtEpilogue_t epilogue, const char* call) {
  for (const cublasLtEpilogue_t listed :
       {CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_BIAS,
        CUBLASLT_EPILOGUE_RELU_BIAS, CUBLASLT_EPILOGUE_GELU_AUX_BIAS}) {
    if (epilogue == listed) return epilogue;
  }
  die(std::string(call) + ": epilogue " + std::to_string(epilogue) + " is not on the list");
}

std::uint32_t power_of_two(std::uint32_t alignment, const char* call) {
  if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
    die(std::string(call) + ": an alignment of " + std::to_string(alignment) + " bytes");
  }
  return alignment;
}

}  // namespace

}  // namespace fake_gpu::blas

using namespace fake_gpu::blas;

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  if (const auto status = fault("cublasLtCreate")) return *status;
  *handle = libraries().add({});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  libraries().remove(handle, "cublasLtDestroy");
  return CUBLAS_STATUS_SUCCESS;
}

std::size_t cublasLtGetVersion() {
  return CUBLAS_VERSION;
}

const char* cublasLtGetStatusName(cublasStatus_t value) {
  for (const Status& status : statuses) {
    if (value == status.value) return status.name;
  }
  return "an unknown status";
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* descriptor, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  if (compute != CUBLAS_COMPUTE_32F || scale != CUDA_R_32F) {
    fake_gpu::die("cublasLtMatmulDescCreate: compute type " + std::to_string(compute) +
                  " with scales of type " + std::to_string(scale) + " is not on the list");
  }
  *descriptor = operations().add({});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t descriptor) {
  operations().remove(descriptor, "cublasLtMatmulDescDestroy");
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t descriptor,
                                              cublasLtMatmulDescAttributes_t name, const void* buffer,
                                              std::size_t bytes) {
  constexpr const char* call = "cublasLtMatmulDescSetAttribute";
  Operation& operation = operations().at(descriptor, call);
  switch (name) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      operation.transposed_a = transposed_by(attribute<cublasOperation_t>(buffer, bytes, call), call);
      break;
    case CUBLASLT_MATMUL_DESC_TRANSB:
      operation.transposed_b = transposed_by(attribute<cublasOperation_t>(buffer, bytes, call), call);
      break;
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      operation.epilogue = known(attribute<cublasLtEpilogue_t>(buffer, bytes, call), call);
      break;
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      operation.bias = attribute<const void*>(buffer, bytes, call);
      break;
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
      operation.bias_type = number_of(attribute<cudaDataType_t>(buffer, bytes, call), call);
      break;
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
      operation.aux = attribute<void*>(buffer, bytes, call);
      break;
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
      operation.aux_stride = attribute<std::int64_t>(buffer, bytes, call);
      break;
    default:
      fake_gpu::die(std::string(call) + ": attribute " + std::to_string(name) + " is not on the list");
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type,
                                          std::uint64_t rows, std::uint64_t columns, std::int64_t stride) {
  constexpr const char* call = "cublasLtMatrixLayoutCreate";
  if (rows == 0 || columns == 0 || stride < static_cast<std::int64_t>(rows)) {
    fake_gpu::die(std::string(call) + ": " + std::to_string(rows) + " rows, " + std::to_string(columns) +
                  " columns, leading dimension " + std::to_string(stride));
  }
  *layout = layouts().add({number_of(type, call), rows, columns, static_cast<std::size_t>(stride)});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  layouts().remove(layout, "cublasLtMatrixLayoutDestroy");
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = preferences().add({});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  preferences().remove(preference, "cublasLtMatmulPreferenceDestroy");
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t handle,
                                                    cublasLtMatmulPreferenceAttributes_t name,
                                                    const void* buffer, std::size_t bytes) {
  constexpr const char* call = "cublasLtMatmulPreferenceSetAttribute";
  Preference& preference = preferences().at(handle, call);
  const auto alignment = [&] { return power_of_two(attribute<std::uint32_t>(buffer, bytes, call), call); };
  switch (name) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      preference.workspace_bytes = attribute<std::uint64_t>(buffer, bytes, call);
      break;
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
      preference.reductions = attribute<std::uint32_t>(buffer, bytes, call);
      break;
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
      preference.alignment_a = alignment();
      break;
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
      preference.alignment_b = alignment();
      break;
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
      preference.alignment_c = alignment();
      break;
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
      preference.alignment_d = alignment();
      break;
    default:
      fake_gpu::die(std::string(call) + ": attribute " + std::to_string(name) + " is not on the list");
  }
  return CUBLAS_STATUS_SUCCESS;
}
