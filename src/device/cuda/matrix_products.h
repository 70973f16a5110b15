// Matrix products by cuBLASLt. The algorithm for a shape is the first that its heuristic names, never the
// fastest of a trial: each start must take the same one, or exact mode's bits would change. Sums are f32, of
// f32 factors in full (no TF32). Parts of a sum that run in parallel (split-K) meet in f32 in the workspace,
// in a step of their own: added in place, they would come in any order.
#pragma once

#include <cublasLt.h>

#include <compare>
#include <cstdint>
#include <map>
#include <memory>

#include "device/cuda/descriptor.h"
#include "device/device.h"
#include "device/tensor.h"

namespace lockstep::device::cuda {

class MatrixProducts {
 public:
  // What NVIDIA recommends for Hopper (cuBLAS documentation, cublasSetWorkspace; 4 MiB for older GPUs).
  static constexpr std::int64_t workspace_bytes = std::int64_t{32} << 20;

  // `workspace`: u8 [workspace_bytes] in the device's memory, aligned to 256 bytes.
  explicit MatrixProducts(Tensor workspace);
  ~MatrixProducts();

  // A matrix, row by row, of f32, bf16 or f16; op(matrix) is it or its transposed.
  struct Factor {
    const Tensor& matrix;
    bool transposed;
  };
  // c [m, n] = activation(op(a) [m, k] op(b) [k, n] + bias), with no activation or ReLU, or c += op(a) op(b).
  // a and b of one type, c of theirs or f32. bias: empty, or [n] of c's type. Addresses are multiples of 16.
  void multiply(cudaStream_t stream, const Factor& a, const Factor& b, const Tensor& bias,
                Activation activation, bool accumulate, const Tensor& c);
  // pre = op(a) op(b) + bias, c = gelu(pre) in the same pass; pre like c, bias not empty. False, and nothing
  // done, where cuBLASLt has no such product: it wants rows of a multiple of 8 numbers, and may lack an
  // algorithm. It may apply GELU before or after pre is rounded.
  bool multiply_gelu(cudaStream_t stream, const Factor& a, const Factor& b, const Tensor& bias,
                     const Tensor& pre, const Tensor& c);

 private:
  struct Key {  // all that the choice of an algorithm depends on
    std::int64_t m, n, k;
    DType in, out;
    bool transposed_a, transposed_b, bias;
    Activation activation;
    std::uint32_t alignment_a, alignment_b, alignment_c, alignment_pre;
    auto operator<=>(const Key&) const = default;
  };
  struct Plan;

  static Key key_of(const Factor& a, const Factor& b, const Tensor& bias, Activation activation,
                    const Tensor& pre, const Tensor& c);
  // The plan for it, with these addresses; null where cuBLASLt has no algorithm with GELU.
  Plan* find(const Key& key, const Tensor& bias, const Tensor& pre);
  std::unique_ptr<Plan> make_plan(const Key& key, const Tensor& bias, const Tensor& pre) const;
  void run(const Plan& plan, cudaStream_t stream, const Factor& a, const Factor& b, float beta,
           const Tensor& c);

  Descriptor<cublasLtHandle_t, cublasLtDestroy> library_;
  Tensor workspace_;
  std::map<Key, std::unique_ptr<Plan>> plans_;
};

}  // namespace lockstep::device::cuda
