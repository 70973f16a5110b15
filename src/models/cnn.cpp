#include "models/cnn.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "models/head.h"
#include "models/images.h"
#include "nn/conv2d.h"
#include "nn/flatten.h"
#include "nn/max_pool2d.h"

namespace lockstep::models {

namespace {

constexpr std::int64_t pool_size = 2;

class Cnn final : public Model {
 public:
  Cnn(const ImageShape& image, std::span<const std::int64_t> channels, std::span<const std::int64_t> hidden,
      std::int64_t classes, double dropout, device::Device& device)
      : Model(device),
        image_(image),
        convolutions_(make_convolutions(parameters_, image.channels, channels)),
        head_(parameters_, features_after(image, channels), hidden, classes, dropout) {}

  nn::Variable forward(nn::Tape& tape, const nn::Variable& x) const override {
    nn::Variable image = channels_last(tape, x, image_);
    for (const nn::Conv2d& convolution : convolutions_) {
      // The ReLU runs inside the pooling: the same values, a quarter of the work backward.
      image = nn::max_pool2d(tape, convolution(tape, image), pool_size, device::Activation::relu);
    }
    return head_(tape, nn::flatten(tape, image), true);
  }

 private:
  static std::vector<nn::Conv2d> make_convolutions(nn::ParameterSet& parameters, std::int64_t in,
                                                   std::span<const std::int64_t> channels) {
    std::vector<nn::Conv2d> convolutions;
    for (const std::int64_t out : channels) {
      convolutions.emplace_back(parameters, fmt::format("conv{}", convolutions.size() + 1), in, out, 3,
                                device::Conv2dOptions{.stride = 1, .padding = 1});
      in = out;
    }
    return convolutions;
  }

  static std::int64_t features_after(const ImageShape& image, std::span<const std::int64_t> channels) {
    std::int64_t height = image.height;
    std::int64_t width = image.width;
    for (std::size_t i = 0; i < channels.size(); ++i) {
      height /= pool_size;
      width /= pool_size;
    }
    return channels.back() * height * width;
  }

  ImageShape image_;
  std::vector<nn::Conv2d> convolutions_;
  Head head_;
};

}  // namespace

std::unique_ptr<Model> make_cnn(const ModelOptions& options, std::span<const std::int64_t> sample_shape,
                                std::int64_t classes, device::Device& device) {
  const ImageShape image = image_shape("cnn", sample_shape);
  const std::vector<std::int64_t> channels =
      options.channels.empty() ? std::vector<std::int64_t>{16, 32} : options.channels;
  const std::vector<std::int64_t> hidden =
      options.hidden.empty() ? std::vector<std::int64_t>{128} : options.hidden;
  std::int64_t smallest = std::min(image.height, image.width);
  for (std::size_t i = 0; i < channels.size(); ++i) smallest /= pool_size;
  if (smallest < 1) {
    throw Error(ExitCode::bad_config,
                fmt::format("model cnn: images of {} x {} are too small to be halved {} times: use fewer "
                            "model.channels",
                            image.height, image.width, channels.size()));
  }
  return std::make_unique<Cnn>(image, channels, hidden, classes, options.dropout, device);
}

}  // namespace lockstep::models
