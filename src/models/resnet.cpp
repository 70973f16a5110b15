#include "models/resnet.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "models/images.h"
#include "nn/average_pool2d.h"
#include "nn/batch_norm2d.h"
#include "nn/conv2d.h"
#include "nn/dropout.h"
#include "nn/linear.h"
#include "nn/max_pool2d.h"
#include "nn/subsample.h"

namespace lockstep::models {

namespace {

using device::Activation;

// Blocks per stage; each stage after the first halves the image and doubles the channels.
struct Form {
  std::vector<std::int64_t> blocks;
  std::int64_t channels;  // of the first stage
  std::int64_t shrinks;   // sides of the image by the last stage's
  bool large_images;
};

Form form_of(std::int64_t depth) {
  switch (depth) {
    case 18:
      return {{2, 2, 2, 2}, 64, 32, true};
    case 34:
      return {{3, 4, 6, 3}, 64, 32, true};
    case 20:
    case 32:
    case 44:
    case 56:
    case 110: {
      const std::int64_t blocks = (depth - 2) / 6;
      return {{blocks, blocks, blocks}, 16, 4, false};
    }
    default:
      throw Error(ExitCode::bad_config,
                  fmt::format("model.depth = {}: there is resnet 20, 32, 44, 56 and 110 for small images, 18 "
                              "and 34 for large ones",
                              depth));
  }
}

class BasicBlock {
 public:
  BasicBlock(nn::ParameterSet& parameters, const std::string& name, std::int64_t in, std::int64_t out,
             std::int64_t stride, bool projection)
      : stride_(stride),
        out_(out),
        reshapes_(stride != 1 || in != out),
        conv1_(nn::Conv2d::without_bias(parameters, name + ".conv1", in, out, 3,
                                        {.stride = stride, .padding = 1})),
        bn1_(parameters, name + ".bn1", out),
        conv2_(
            nn::Conv2d::without_bias(parameters, name + ".conv2", out, out, 3, {.stride = 1, .padding = 1})),
        bn2_(parameters, name + ".bn2", out) {
    if (!reshapes_ || !projection) return;
    projection_.emplace(Projection{nn::Conv2d::without_bias(parameters, name + ".downsample.0", in, out, 1,
                                                            {.stride = stride, .padding = 0}),
                                   nn::BatchNorm2d(parameters, name + ".downsample.1", out)});
  }

  nn::Variable operator()(nn::Tape& tape, const nn::Variable& x) const {
    const nn::Variable inner = bn1_(tape, conv1_(tape, x), Activation::relu);
    return bn2_(tape, conv2_(tape, inner), shortcut(tape, x), Activation::relu);
  }

 private:
  struct Projection {
    nn::Conv2d conv;
    nn::BatchNorm2d norm;
  };

  nn::Variable shortcut(nn::Tape& tape, const nn::Variable& x) const {
    if (!reshapes_) return x;
    if (projection_) return projection_->norm(tape, projection_->conv(tape, x));
    return nn::subsample(tape, x, stride_, out_);
  }

  std::int64_t stride_, out_;
  bool reshapes_;
  nn::Conv2d conv1_;
  nn::BatchNorm2d bn1_;
  nn::Conv2d conv2_;
  nn::BatchNorm2d bn2_;
  std::optional<Projection> projection_;
};

nn::Conv2d make_stem(nn::ParameterSet& parameters, std::int64_t in, const Form& form) {
  const std::int64_t kernel = form.large_images ? 7 : 3;
  return nn::Conv2d::without_bias(parameters, "conv1", in, form.channels, kernel,
                                  {.stride = form.large_images ? 2 : 1, .padding = kernel / 2});
}

std::vector<BasicBlock> make_blocks(nn::ParameterSet& parameters, const Form& form) {
  std::vector<BasicBlock> blocks;
  std::int64_t in = form.channels;
  std::int64_t out = form.channels;
  for (std::size_t stage = 0; stage < form.blocks.size(); ++stage, out *= 2) {
    for (std::int64_t i = 0; i < form.blocks[stage]; ++i, in = out) {
      blocks.emplace_back(parameters, fmt::format("layer{}.{}", stage + 1, i), in, out,
                          stage > 0 && i == 0 ? 2 : 1, form.large_images);
    }
  }
  return blocks;
}

class Resnet final : public Model {
 public:
  Resnet(const ImageShape& image, const Form& form, std::int64_t classes, double dropout,
         device::Device& device)
      : Model(device),
        image_(image),
        pools_(form.large_images),
        least_batch_(std::max(image.height, image.width) <= form.shrinks ? 2 : 1),
        dropout_(dropout),
        conv1_(make_stem(parameters_, image.channels, form)),
        bn1_(parameters_, "bn1", form.channels),
        blocks_(make_blocks(parameters_, form)),
        fc_(parameters_, "fc", form.channels << (form.blocks.size() - 1), classes) {}

  // The last stage may have but one pixel, and batch normalisation needs two values.
  std::int64_t least_batch() const override { return least_batch_; }

  nn::Variable forward(nn::Tape& tape, const nn::Variable& x) const override {
    nn::Variable image = conv1_(tape, channels_last(tape, x, image_));
    image = bn1_(tape, image, Activation::relu);
    if (pools_) image = nn::max_pool2d(tape, image, {.size = 3, .stride = 2, .padding = 1});
    for (const BasicBlock& block : blocks_) image = block(tape, image);
    return fc_(tape, nn::dropout(tape, nn::average_pool2d(tape, image), dropout_));
  }

 private:
  ImageShape image_;
  bool pools_;
  std::int64_t least_batch_;
  double dropout_;
  nn::Conv2d conv1_;
  nn::BatchNorm2d bn1_;
  std::vector<BasicBlock> blocks_;
  nn::Linear fc_;
};

}  // namespace

std::unique_ptr<Model> make_resnet(const ModelOptions& options, std::span<const std::int64_t> sample_shape,
                                   std::int64_t classes, device::Device& device) {
  const ImageShape image = image_shape("resnet", sample_shape);
  const Form form = form_of(options.depth);
  if (std::min(image.height, image.width) < form.shrinks) {
    throw Error(ExitCode::bad_config,
                fmt::format("model resnet of depth {} needs images of at least {} x {}, the data's are {} x "
                            "{}: {}",
                            options.depth, form.shrinks, form.shrinks, image.height, image.width,
                            form.large_images ? "use model.depth = 20, 32, 44, 56 or 110" : "use model mlp"));
  }
  return std::make_unique<Resnet>(image, form, classes, options.dropout, device);
}

}  // namespace lockstep::models
