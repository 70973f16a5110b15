#include "comm/step_packet.h"

#include <algorithm>

#include "comm/tree.h"

namespace lockstep::comm {

StepPacket::StepPacket(int lanes, std::size_t quantities, std::size_t flags)
    : lanes_(static_cast<std::size_t>(lanes)),
      quantities_(quantities),
      values_(quantities * lanes_ + flags) {}

void StepPacket::clear() {
  std::fill(values_.begin(), values_.end(), 0.0);
}

void StepPacket::set(std::size_t quantity, int lane, double value) {
  // Other ranks bring +0 for this slot, and -0 + +0 is +0: normalised here, one rank gives the same bits.
  values_.at(slot(quantity, lane)) = value + 0.0;
}

void StepPacket::raise(std::size_t flag) {
  values_.at(quantities_ * lanes_ + flag) = 1.0;
}

void StepPacket::reduce(Group& comm) {
  comm.all_reduce_sum(std::span(values_));
}

double StepPacket::sum(std::size_t quantity) const {
  return tree_sum(values(quantity));
}

std::span<const double> StepPacket::values(std::size_t quantity) const {
  return std::span(values_).subspan(slot(quantity, 0), lanes_);
}

double StepPacket::value(std::size_t quantity, int lane) const {
  return values_.at(slot(quantity, lane));
}

int StepPacket::raised(std::size_t flag) const {
  return static_cast<int>(values_.at(quantities_ * lanes_ + flag));
}

std::size_t StepPacket::slot(std::size_t quantity, int lane) const {
  return quantity * lanes_ + static_cast<std::size_t>(lane);
}

}  // namespace lockstep::comm
