#include "device/cpu/convolution_cache.h"

#include <fmt/format.h>

#include <string_view>

#include "core/error.h"
#include "device/cpu/bf16_support.h"

namespace lockstep::device::cpu {

namespace {

using dnnl::memory;
using Tag = memory::format_tag;

struct Descriptions {
  memory::desc x, any_weights, plain_weights, any_gradient, plain_gradient, bias, y;
  memory::dims strides, padding;
};

Descriptions describe(const ConvolutionShape& s) {
  constexpr auto f32 = memory::data_type::f32;
  const auto type = s.type == DType::bf16 ? memory::data_type::bf16 : f32;
  const std::int64_t out_height = window_output(s.height, s.kernel_height, {s.stride, s.padding});
  const std::int64_t out_width = window_output(s.width, s.kernel_width, {s.stride, s.padding});
  // With one channel in and sixteen out, the same bytes are also "nchw" in and "nChw16c" out: called that,
  // oneDNN takes its kernel for first layers, twice as fast (148 us against 283, 64 images of 28 x 28).
  const bool first_layer = s.in == 1 && s.out == 16 && s.type == DType::f32;
  const memory::dims weights{s.out, s.in, s.kernel_height, s.kernel_width};
  return {{{s.n, s.in, s.height, s.width}, type, first_layer ? Tag::nchw : Tag::nhwc},
          {weights, type, Tag::any},
          {weights, type, Tag::oihw},
          {weights, f32, Tag::any},
          {weights, f32, Tag::oihw},
          s.bias ? memory::desc({s.out}, f32, Tag::x) : memory::desc(),
          {{s.n, s.out, out_height, out_width}, type, first_layer ? Tag::nChw16c : Tag::nhwc},
          {s.stride, s.stride},
          {s.padding, s.padding}};
}

dnnl::convolution_forward::primitive_desc forward_description(const ConvolutionShape& s,
                                                              const Descriptions& d,
                                                              const dnnl::engine& engine) {
  dnnl::primitive_attr attributes;
  if (s.relu) {
    dnnl::post_ops operations;
    operations.append_eltwise(1.f, dnnl::algorithm::eltwise_relu, 0.f, 0.f);
    attributes.set_post_ops(operations);
  }
  return {{dnnl::prop_kind::forward_training, dnnl::algorithm::convolution_direct, d.x, d.any_weights, d.bias,
           d.y, d.strides, d.padding, d.padding},
          attributes,
          engine,
          true};
}

// A memory whose address is given per call.
memory unbound(const memory::desc& description, const dnnl::engine& engine) {
  return {description, engine, nullptr};
}

void add_weights(Convolution& made, const memory::desc& wanted, const memory::desc& plain, bool gradient,
                 const dnnl::engine& engine) {
  made.plain_weights = unbound(plain, engine);
  if (wanted == plain) {
    made.weights = made.plain_weights;
    return;
  }
  made.weights = memory(wanted, engine);
  made.reorder = gradient ? dnnl::reorder(made.weights, made.plain_weights)
                          : dnnl::reorder(made.plain_weights, made.weights);
}

void add_bias(Convolution& made, int argument, const Descriptions& d, const dnnl::engine& engine) {
  made.bias = unbound(d.bias, engine);
  made.arguments.emplace(argument, made.bias);
}

// Whether to run what oneDNN offers; in f32 there is nothing else.
bool usable(const dnnl::primitive_desc& description, const ConvolutionShape& s) {
  if (s.type != DType::f32) return description && !is_reference(description);
  if (!description) throw dnnl::error(dnnl_unimplemented, "there is no implementation");
  return true;
}

template <class Make>
Convolution* find_or_make(std::map<ConvolutionShape, std::optional<Convolution>>& known,
                          const ConvolutionShape& s, std::string_view what, const Make& make) {
  const auto found = known.find(s);
  if (found != known.end()) return found->second ? &*found->second : nullptr;
  try {
    std::optional<Convolution>& made = known.emplace(s, make()).first->second;
    return made ? &*made : nullptr;
  } catch (const dnnl::error& error) {
    throw Error(
        ExitCode::internal,
        fmt::format(
            "oneDNN cannot run the {} pass of a convolution {} -> {} channels, kernel {} x {}, stride "
            "{}, padding {}, on {} images of {} x {}: {}",
            what, s.in, s.out, s.kernel_height, s.kernel_width, s.stride, s.padding, s.n, s.height, s.width,
            error.what()));
  }
}

}  // namespace

Convolution* ConvolutionCache::forward(const ConvolutionShape& shape) {
  return find_or_make(forward_, shape, "forward", [&]() -> std::optional<Convolution> {
    const Descriptions d = describe(shape);
    const auto description = forward_description(shape, d, engine_);
    if (!usable(description, shape)) return std::nullopt;
    Convolution made;
    made.primitive = dnnl::convolution_forward(description);
    add_weights(made, description.weights_desc(), d.plain_weights, false, engine_);
    made.image_in = unbound(d.x, engine_);
    made.image_out = unbound(d.y, engine_);
    made.arguments = {
        {DNNL_ARG_SRC, made.image_in}, {DNNL_ARG_WEIGHTS, made.weights}, {DNNL_ARG_DST, made.image_out}};
    if (shape.bias) add_bias(made, DNNL_ARG_BIAS, d, engine_);
    return made;
  });
}

Convolution* ConvolutionCache::backward_data(const ConvolutionShape& shape) {
  return find_or_make(backward_data_, shape, "backward data", [&]() -> std::optional<Convolution> {
    const Descriptions d = describe(shape);
    const auto forward = forward_description(shape, d, engine_);
    if (!usable(forward, shape)) return std::nullopt;
    const dnnl::convolution_backward_data::primitive_desc description(
        {dnnl::algorithm::convolution_direct, d.x, d.any_weights, d.y, d.strides, d.padding, d.padding},
        engine_, forward, true);
    if (!usable(description, shape)) return std::nullopt;
    Convolution made;
    made.primitive = dnnl::convolution_backward_data(description);
    add_weights(made, description.weights_desc(), d.plain_weights, false, engine_);
    made.image_in = unbound(d.y, engine_);
    made.image_out = unbound(d.x, engine_);
    made.arguments = {{DNNL_ARG_DIFF_DST, made.image_in},
                      {DNNL_ARG_WEIGHTS, made.weights},
                      {DNNL_ARG_DIFF_SRC, made.image_out}};
    return made;
  });
}

Convolution* ConvolutionCache::backward_weights(const ConvolutionShape& shape) {
  return find_or_make(backward_weights_, shape, "backward weights", [&]() -> std::optional<Convolution> {
    const Descriptions d = describe(shape);
    const auto forward = forward_description(shape, d, engine_);
    if (!usable(forward, shape)) return std::nullopt;
    const dnnl::convolution_backward_weights::primitive_desc description(
        {dnnl::algorithm::convolution_direct, d.x, d.any_gradient, d.bias, d.y, d.strides, d.padding,
         d.padding},
        engine_, forward, true);
    if (!usable(description, shape)) return std::nullopt;
    Convolution made;
    made.primitive = dnnl::convolution_backward_weights(description);
    add_weights(made, description.diff_weights_desc(), d.plain_gradient, true, engine_);
    made.image_in = unbound(d.x, engine_);
    made.image_out = unbound(d.y, engine_);
    made.arguments = {{DNNL_ARG_SRC, made.image_in},
                      {DNNL_ARG_DIFF_DST, made.image_out},
                      {DNNL_ARG_DIFF_WEIGHTS, made.weights}};
    if (shape.bias) add_bias(made, DNNL_ARG_DIFF_BIAS, d, engine_);
    return made;
  });
}

}  // namespace lockstep::device::cpu
