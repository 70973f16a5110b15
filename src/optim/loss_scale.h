// The factor of the loss in fp16, as torch.amp.GradScaler finds it: gradients that are too small for 16 bits
// survive, and where they become too large, the step is left out and the factor halved.
#pragma once

#include <cstdint>

namespace lockstep::optim {

// Powers of two: scaling loses nothing. Times the gradient of the SUM of the losses, so that a scale of
// GradScaler's, whose loss is a mean, is larger by the number of samples.
class LossScale {
 public:
  static constexpr double least = 1.;
  static constexpr double most = 0x1p40;

  // Doubles after `growth_steps` updates in a row. least <= initial <= most.
  LossScale(double initial, std::int64_t growth_steps) : value_(initial), growth_steps_(growth_steps) {}

  double value() const { return value_; }
  std::int64_t good_steps() const { return good_steps_; }  // updates since the last change
  // As a checkpoint has them.
  void restore(double value, std::int64_t good_steps);

  // An update was made.
  void accept();
  // The gradients are not finite. False, and nothing changed but the row of updates, where the scale is the
  // least: it is not to blame.
  bool reject();

 private:
  double value_;
  std::int64_t growth_steps_;
  std::int64_t good_steps_ = 0;
};

}  // namespace lockstep::optim
