#include "optim/loss_scale.h"

#include <catch2/catch.hpp>
#include <string_view>
#include <vector>

using lockstep::optim::LossScale;

TEST_CASE("the loss scale moves as torch.amp.GradScaler's", "[optim]") {
  // GradScaler(init_scale=8, growth_interval=3), "x": gradients were not finite. PyTorch 2.15.
  constexpr std::string_view steps = "ooxoooooxxoooxxxxooo";
  const std::vector<double> recorded{8, 8, 4, 4, 4, 8, 8, 8, 4, 2, 2, 2, 4, 2, 1, .5, .25, .25, .25, .5};
  LossScale scale(8., 3);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    INFO("step " << i);
    const double before = scale.value();
    if (steps[i] == 'o') {
      scale.accept();
    } else {
      // Ours stops at 1: without scaling there is nothing to take back.
      CHECK(scale.reject() == (before > 1.));
    }
    CHECK(scale.value() == (i < 15 ? recorded[i] : i < 19 ? 1. : 2.));
  }
}

TEST_CASE("the loss scale does not grow without end, and goes on from a checkpoint", "[optim]") {
  LossScale scale(LossScale::most, 1);
  scale.accept();
  CHECK(scale.value() == LossScale::most);
  LossScale resumed(1., 3);
  resumed.restore(64., 2);
  CHECK(resumed.good_steps() == 2);
  resumed.accept();
  CHECK(resumed.value() == 128.);
  CHECK(resumed.good_steps() == 0);
}
