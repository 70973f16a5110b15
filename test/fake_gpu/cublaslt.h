// What the stand-in for cuBLASLt keeps of a program's descriptors (test/fake_gpu/cublaslt*.cpp).
#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <optional>

#include "handles.h"
#include "numbers.h"

namespace fake_gpu::blas {

struct Library {};

struct Layout {  // column by column
  Number type;
  std::size_t rows, columns, stride;
};

struct Operation {
  bool transposed_a = false;
  bool transposed_b = false;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
  std::optional<Number> bias_type;
  void* aux = nullptr;  // GELU's input: column by column, of D's type
  std::int64_t aux_stride = 0;
};

struct Preference {
  std::size_t workspace_bytes = 0;
  std::uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK;
  // Of addresses, in bytes; a product may only be made of matrices that lie as its algorithm was told.
  std::uint32_t alignment_a = 256, alignment_b = 256, alignment_c = 256, alignment_d = 256;
};

Handles<cublasLtHandle_t, Library>& libraries();
Handles<cublasLtMatrixLayout_t, Layout>& layouts();
Handles<cublasLtMatmulDesc_t, Operation>& operations();
Handles<cublasLtMatmulPreference_t, Preference>& preferences();

// The status that is to be injected into this call, if one is.
std::optional<cublasStatus_t> fault(const char* call);

Number number_of(cudaDataType_t type, const char* call);
bool has_bias(cublasLtEpilogue_t epilogue);
bool has_gelu(cublasLtEpilogue_t epilogue);  // those on the list have an aux matrix

}  // namespace fake_gpu::blas
