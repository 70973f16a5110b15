#include "device/cpu/matmul_cache.h"

#include <fmt/format.h>

#include "core/error.h"
#include "device/cpu/bf16_support.h"

namespace lockstep::device::cpu {

namespace {

using dnnl::memory;
using Tag = memory::format_tag;

memory::desc matrix(std::int64_t rows, std::int64_t columns, memory::data_type type, bool transposed) {
  return {{rows, columns}, type, transposed ? Tag::ba : Tag::ab};
}

std::optional<Matmul> make(const MatmulShape& s, const dnnl::engine& engine) {
  if (bf16_instructions().empty()) return std::nullopt;
  constexpr auto bf16 = memory::data_type::bf16;
  constexpr auto f32 = memory::data_type::f32;
  const memory::desc a = matrix(s.m, s.k, bf16, s.a_transposed);
  const memory::desc b = matrix(s.k, s.n, bf16, s.b_transposed);
  const memory::desc bias = s.bias ? memory::desc({1, s.n}, f32, Tag::ab) : memory::desc();
  const memory::desc c = matrix(s.m, s.n, s.c == DType::f32 ? f32 : bf16, false);
  dnnl::post_ops operations;
  if (s.accumulate) operations.append_sum(1.f);
  if (s.relu) operations.append_eltwise(1.f, dnnl::algorithm::eltwise_relu, 0.f, 0.f);
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(operations);
  const dnnl::matmul::desc wanted = s.bias ? dnnl::matmul::desc(a, b, bias, c) : dnnl::matmul::desc(a, b, c);
  const dnnl::matmul::primitive_desc description(wanted, attributes, engine, true);
  if (!description || is_reference(description)) return std::nullopt;
  Matmul made{dnnl::matmul(description),  memory(a, engine, nullptr),
              memory(b, engine, nullptr), s.bias ? memory(bias, engine, nullptr) : memory(),
              memory(c, engine, nullptr), {}};
  made.arguments = {{DNNL_ARG_SRC, made.a}, {DNNL_ARG_WEIGHTS, made.b}, {DNNL_ARG_DST, made.c}};
  if (s.bias) made.arguments.emplace(DNNL_ARG_BIAS, made.bias);
  return made;
}

}  // namespace

Matmul* MatmulCache::find(const MatmulShape& shape) {
  const auto found = known_.find(shape);
  if (found != known_.end()) return found->second ? &*found->second : nullptr;
  try {
    std::optional<Matmul>& made = known_.emplace(shape, make(shape, engine_)).first->second;
    return made ? &*made : nullptr;
  } catch (const dnnl::error& error) {
    throw Error(ExitCode::internal,
                fmt::format("oneDNN cannot make a product of bf16 matrices {} x {} x {}: {}", shape.m,
                            shape.n, shape.k, error.what()));
  }
}

}  // namespace lockstep::device::cpu
