#include "optim/loss_scale.h"

namespace lockstep::optim {

void LossScale::restore(double value, std::int64_t good_steps) {
  value_ = value;
  good_steps_ = good_steps;
}

void LossScale::accept() {
  if (++good_steps_ < growth_steps_) return;
  good_steps_ = 0;
  if (value_ < most) value_ *= 2.;
}

bool LossScale::reject() {
  good_steps_ = 0;
  if (value_ <= least) return false;
  value_ /= 2.;
  return true;
}

}  // namespace lockstep::optim
