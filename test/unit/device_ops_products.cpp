// Linear layers and convolutions, on every device and in every type.
#include <catch2/catch.hpp>
#include <cmath>

#include "core/error.h"
#include "device/cpu/cpu_device.h"
#include "device_under_test.h"

using lockstep::Error;
using lockstep::device::Activation;
using lockstep::device::Conv2dOptions;
using lockstep::device::CpuDevice;
using lockstep::device::Device;
using lockstep::device::DType;
using lockstep::device::Shape;
using lockstep::device::Tensor;
using lockstep::device::window_output;
using namespace lockstep::test;

namespace {

Values magnitudes_of(Values values) {
  for (float& value : values.host) value = std::abs(value);
  return values;
}

std::vector<float> behind(std::vector<float> first, const std::vector<float>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// One case of a layer with weights: how its passes are called, whatever the layer is.
struct Layer {
  Shape x, weight, y;
  std::int64_t bias;  // numbers; 0: none
  std::int64_t forward_terms, data_terms, weight_terms;
  std::function<void(Device&, const Tensor& x, const Tensor& weight, const Tensor& bias, Activation,
                     const Tensor& y)>
      forward;
  std::function<void(Device&, const Tensor& dy, const Tensor& weight, const Tensor& dx)> data;
  std::function<void(Device&, const Tensor& x, const Tensor& dy, bool accumulate, const Tensor& dw,
                     const Tensor& db)>
      weights;
  // On a GPU, in 16 bits, the product is rounded to the type of x before the bias, or the gradient of the
  // weights that is there, is added.
  bool rounds_products = false;

  bool rounds_first(const Device& device) const { return rounds_products && device.kind() == "cuda"; }
};

// Operations in f32 that err as much as rounding once to the type.
std::int64_t rounding_in_terms(DType dtype) {
  return dtype == DType::bf16 ? 1 << 15 : dtype == DType::f16 ? 1 << 12 : 0;
}

void check_forward(const Trial& trial, const Layer& layer, Activation activation) {
  Device& device = *trial.device;
  CpuDevice reference;
  const Values x = random_values(layer.x, trial.dtype, 1);
  const Values weight = random_values(layer.weight, trial.dtype, 2);
  // A GPU rounds it to the type of y first.
  const Values bias = random_values({layer.bias}, trial.dtype, 3);
  const auto run = [&](Device& on, const Tensor& input, const Tensor& w, const Values& b, Activation with) {
    const Tensor y = unwritten(on, layer.y, input.dtype());
    layer.forward(on, input, w, layer.bias > 0 ? in_f32(on, b) : Tensor(), with, y);
    return from_device(on, y);
  };
  const bool twice = layer.bias > 0 && layer.rounds_first(device);
  const auto magnitudes =
      run(reference, in_f32(reference, magnitudes_of(x)), in_f32(reference, magnitudes_of(weight)),
          magnitudes_of(bias), Activation::none);
  check_near(repeated(trial,
                      [&] {
                        return run(device, on_device(device, x), on_device(device, weight), bias, activation);
                      }),
             run(reference, in_f32(reference, x), in_f32(reference, weight), bias, activation),
             {trial.dtype, layer.forward_terms + (twice ? rounding_in_terms(trial.dtype) : 0), magnitudes});
}

void check_data(const Trial& trial, const Layer& layer) {
  Device& device = *trial.device;
  CpuDevice reference;
  const Values dy = random_values(layer.y, trial.dtype, 4);
  const Values weight = random_values(layer.weight, trial.dtype, 2);
  const auto run = [&](Device& on, const Tensor& gradient, const Tensor& w) {
    const Tensor dx = unwritten(on, layer.x, gradient.dtype());
    layer.data(on, gradient, w, dx);
    return from_device(on, dx);
  };
  check_near(
      repeated(trial, [&] { return run(device, on_device(device, dy), on_device(device, weight)); }),
      run(reference, in_f32(reference, dy), in_f32(reference, weight)),
      {trial.dtype, layer.data_terms,
       run(reference, in_f32(reference, magnitudes_of(dy)), in_f32(reference, magnitudes_of(weight)))});
}

void check_weights(const Trial& trial, const Layer& layer, bool accumulate) {
  Device& device = *trial.device;
  CpuDevice reference;
  const Values x = random_values(layer.x, trial.dtype, 1);
  const Values dy = random_values(layer.y, trial.dtype, 4);
  const Values before = random_values(layer.weight, DType::f32, 5);
  const Values bias_before = random_values({layer.bias}, DType::f32, 6);
  const auto run = [&](Device& on, const Tensor& input, const Tensor& gradient, const Values& w,
                       const Values& b) {
    const Tensor dweight = accumulate ? on_device(on, w) : unwritten(on, layer.weight);
    const Tensor dbias = layer.bias == 0 ? Tensor() : accumulate ? on_device(on, b) : unwritten(on, b.shape);
    layer.weights(on, input, gradient, accumulate, dweight, dbias);
    const std::vector<float> result = from_device(on, dweight);
    return layer.bias == 0 ? result : behind(result, from_device(on, dbias));
  };
  std::vector<float> got = repeated(
      trial, [&] { return run(device, on_device(device, x), on_device(device, dy), before, bias_before); });
  std::vector<float> wanted =
      run(reference, in_f32(reference, x), in_f32(reference, dy), before, bias_before);
  const bool rounded_first = layer.rounds_first(device);
  if (rounded_first && accumulate) {
    const std::vector<float> there = behind(before.host, bias_before.host);
    for (std::size_t i = 0; i < there.size(); ++i) {
      got[i] -= there[i];
      wanted[i] -= there[i];
    }
  }
  check_near(got, wanted,
             {rounded_first ? trial.dtype : DType::f32, layer.weight_terms,
              run(reference, in_f32(reference, magnitudes_of(x)), in_f32(reference, magnitudes_of(dy)),
                  magnitudes_of(before), magnitudes_of(bias_before))});
}

void check_layer(const Trial& trial, const Layer& layer) {
  for (const Activation activation : {Activation::none, Activation::relu})
    check_forward(trial, layer, activation);
  check_data(trial, layer);
  for (const bool accumulate : {false, true}) check_weights(trial, layer, accumulate);
}

}  // namespace

TEST_CASE("linear layers", "[device][ops]") {
  const Trial trial = GENERATE(from_range(trials("linear")));
  const auto [n, in, out] = GENERATE(table<std::int64_t, std::int64_t, std::int64_t>(
      {{1, 1, 1}, {3, 5, 7}, {16, 64, 32}, {33, 100, 10}, {8, 784, 24}}));
  INFO(trial << ", " << n << " x " << in << " -> " << out);
  check_layer(
      trial, {{n, in},
              {out, in},
              {n, out},
              out,
              in + 1,
              out,
              n + 1,
              [](Device& on, const Tensor& x, const Tensor& weight, const Tensor& bias, Activation activation,
                 const Tensor& y) { on.linear_forward(x, weight, bias, activation, {}, y); },
              [](Device& on, const Tensor& dy, const Tensor& weight, const Tensor& dx) {
                on.linear_backward_data(dy, weight, dx);
              },
              [](Device& on, const Tensor& x, const Tensor& dy, bool accumulate, const Tensor& dw,
                 const Tensor& db) { on.linear_backward_weights(x, dy, accumulate, dw, db); }});
}

TEST_CASE("linear layers with GELU keep its input", "[device][ops]") {
  const Trial trial = GENERATE(from_range(trials("linear")));
  const auto sizes = GENERATE(table<std::int64_t, std::int64_t, std::int64_t>(
      {{1, 1, 1}, {3, 5, 7}, {16, 64, 32}, {33, 100, 10}, {8, 784, 24}}));
  const std::int64_t n = std::get<0>(sizes), in = std::get<1>(sizes), out = std::get<2>(sizes);
  const bool crooked = GENERATE(false, true);  // the input lies where cuBLASLt would not put it
  INFO(trial << ", " << n << " x " << in << " -> " << out << (crooked ? ", crooked" : ""));
  Device& device = *trial.device;
  CpuDevice reference;
  const Values x = random_values({n, in}, trial.dtype, 1);
  const Values weight = random_values({out, in}, trial.dtype, 2);
  const Values bias = random_values({out}, trial.dtype, 3);
  const auto run = [&](Device& on, const Tensor& input, const Tensor& w) {
    const Tensor room = unwritten(on, {n * out + 1}, input.dtype());
    const Tensor pre = room.slice(crooked ? 1 : 0, {n, out});
    const Tensor y = unwritten(on, {n, out}, input.dtype());
    on.linear_forward(input, w, in_f32(on, bias), Activation::gelu, pre, y);
    return behind(from_device(on, pre), from_device(on, y));
  };
  const Tensor magnitudes = unwritten(reference, {n, out});
  reference.linear_forward(in_f32(reference, magnitudes_of(x)), in_f32(reference, magnitudes_of(weight)),
                           in_f32(reference, magnitudes_of(bias)), Activation::none, {}, magnitudes);
  const std::vector<float> each = from_device(reference, magnitudes);
  const auto got =
      repeated(trial, [&] { return run(device, on_device(device, x), on_device(device, weight)); });
  // In 16 bits GELU's input is rounded first, or it is not.
  check_near(got, run(reference, in_f32(reference, x), in_f32(reference, weight)),
             {trial.dtype, in + 16 + rounding_in_terms(trial.dtype), behind(each, each)});
}

TEST_CASE("GELU belongs to linear layers alone", "[device][ops]") {
  Device& device = *GENERATE(from_range(devices()));
  const Tensor image = device.zeros({1, 4, 4, 2});
  const Tensor filter = device.zeros({2, 2, 1, 1});
  const Tensor channel = device.zeros({2});
  const Tensor half = device.zeros({1, 2, 2, 2});
  const Tensor places = device.empty({1, 2, 2, 2}, DType::u8);
  CHECK_THROWS_AS(device.linear_forward(half.reshaped({1, 8}), device.zeros({2, 8}), channel,
                                        Activation::gelu, {}, device.zeros({1, 2})),
                  Error);
  CHECK_THROWS_WITH(device.conv2d_forward(image, filter, {}, {}, Activation::gelu, image),
                    "conv2d: GELU is an activation of linear layers alone");
  CHECK_THROWS_AS(device.max_pool_forward(image, {2, 2, 0}, Activation::gelu, half, places), Error);
  CHECK_THROWS_AS(
      device.batch_norm_forward(image, {channel, channel}, channel, channel, {}, Activation::gelu, image),
      Error);
  CHECK_THROWS_AS(device.batch_norm_backward(image, {channel, channel}, channel, Activation::gelu, image,
                                             image, false, image, channel, channel),
                  Error);
}

TEST_CASE("linear layers of one shape have biases of their own", "[device][ops]") {
  const Trial trial = GENERATE(from_range(trials("linear")));
  INFO(trial);
  Device& device = *trial.device;
  const Tensor x = on_device(device, random_values({1, 4}, trial.dtype, 1));
  const Tensor weight = on_device(device, {{5, 4}, trial.dtype, std::vector<float>(20, 0.f)});
  const std::vector<Values> biases{random_values({5}, trial.dtype, 2), random_values({5}, trial.dtype, 3)};
  const std::vector<Tensor> there{in_f32(device, biases[0]), in_f32(device, biases[1])};
  for (std::size_t i = 0; i < there.size(); ++i) {
    const Tensor y = unwritten(device, {1, 5}, trial.dtype);
    device.linear_forward(x, weight, there[i], Activation::none, {}, y);
    CHECK(from_device(device, y) == biases[i].host);
  }
}

TEST_CASE("convolutions", "[device][ops]") {
  const Trial trial = GENERATE(from_range(trials("conv2d")));
  struct Case {
    std::int64_t n, height, width, in, out, kernel;
    Conv2dOptions options;
    bool bias;
  };
  const Case c = GENERATE(Case{2, 7, 6, 1, 16, 3, {1, 1}, true}, Case{1, 9, 9, 3, 8, 7, {2, 3}, false},
                          Case{2, 6, 5, 16, 32, 3, {2, 1}, false}, Case{2, 5, 5, 8, 4, 1, {2, 0}, true},
                          Case{3, 8, 8, 32, 32, 3, {1, 1}, true});
  const std::int64_t height = window_output(c.height, c.kernel, c.options);
  const std::int64_t width = window_output(c.width, c.kernel, c.options);
  const std::int64_t window = c.kernel * c.kernel;
  INFO(trial << ", " << c.in << " -> " << c.out << " channels, kernel " << c.kernel);
  check_layer(
      trial,
      {{c.n, c.height, c.width, c.in},
       {c.out, c.in, c.kernel, c.kernel},
       {c.n, height, width, c.out},
       c.bias ? c.out : 0,
       c.in * window + 1,
       c.out * window,
       c.n * height * width + 1,
       [&](Device& on, const Tensor& x, const Tensor& weight, const Tensor& bias, Activation activation,
           const Tensor& y) { on.conv2d_forward(x, weight, bias, c.options, activation, y); },
       [&](Device& on, const Tensor& dy, const Tensor& weight, const Tensor& dx) {
         on.conv2d_backward_data(dy, weight, c.options, dx);
       },
       [&](Device& on, const Tensor& x, const Tensor& dy, bool accumulate, const Tensor& dw,
           const Tensor& db) { on.conv2d_backward_weights(x, dy, c.options, accumulate, dw, db); },
       true});
}
