#include "comm/step_packet.h"

#include <algorithm>
#include <span>

#include "comm/tree.h"

namespace lockstep::comm {

namespace {

// Plain numbers one after the other, into bytes and out of them. Of none the pointer may be null.
template <typename T>
void put(std::byte*& to, const T* values, std::size_t count) {
  const auto bytes = std::as_bytes(std::span(values, count));
  to = std::copy(bytes.begin(), bytes.end(), to);
}

template <typename T>
void take(const std::byte*& from, T* values, std::size_t count) {
  const auto bytes = std::as_writable_bytes(std::span(values, count));
  std::copy_n(from, bytes.size(), bytes.begin());
  from += bytes.size();
}

}  // namespace

StepPacket::StepPacket(int lanes, std::size_t quantities, std::size_t flags, std::size_t attached)
    : lanes_(static_cast<std::size_t>(lanes)),
      quantities_(quantities),
      flags_(flags),
      row_(attached),
      values_(quantities * lanes_ + flags),
      attached_(lanes_ * attached) {}

void StepPacket::clear() {
  std::fill(values_.begin(), values_.end(), 0.0);
}

void StepPacket::set(std::size_t quantity, int lane, double value) {
  values_.at(slot(quantity, lane)) = value;
}

std::span<float> StepPacket::attached(int lane) {
  return std::span(attached_).subspan(static_cast<std::size_t>(lane) * row_, row_);
}

void StepPacket::raise(std::size_t flag) {
  values_.at(quantities_ * lanes_ + flag) = 1.0;
}

void StepPacket::gather(Group& comm) {
  const int ranks = comm.size();
  // Blocks of one size: rank 0 has as many lanes as any.
  const auto most = static_cast<std::size_t>(lanes_of(0, ranks, static_cast<int>(lanes_)).count());
  const std::size_t block =
      flags_ * sizeof(double) + most * (quantities_ * sizeof(double) + row_ * sizeof(float));
  mine_.resize(block);
  all_.resize(block * static_cast<std::size_t>(ranks));

  double* const flags = values_.data() + quantities_ * lanes_;
  std::byte* to = mine_.data();
  put(to, flags, flags_);
  const LaneRange own = lanes_of(comm.rank(), ranks, static_cast<int>(lanes_));
  for (int lane = own.first; lane < own.last; ++lane) {
    for (std::size_t quantity = 0; quantity < quantities_; ++quantity) {
      put(to, &values_[slot(quantity, lane)], 1);
    }
    put(to, attached(lane).data(), row_);
  }
  comm.all_gather(mine_, all_);
  std::fill_n(flags, flags_, 0.0);
  for (int rank = 0; rank < ranks; ++rank) {
    const std::byte* from = all_.data() + static_cast<std::size_t>(rank) * block;
    for (std::size_t flag = 0; flag < flags_; ++flag) {
      double raised = 0;
      take(from, &raised, 1);
      flags[flag] += raised;
    }
    const LaneRange theirs = lanes_of(rank, ranks, static_cast<int>(lanes_));
    for (int lane = theirs.first; lane < theirs.last; ++lane) {
      for (std::size_t quantity = 0; quantity < quantities_; ++quantity) {
        take(from, &values_[slot(quantity, lane)], 1);
      }
      take(from, attached(lane).data(), row_);
    }
  }
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

std::span<const float> StepPacket::attached(int lane) const {
  return std::span(attached_).subspan(static_cast<std::size_t>(lane) * row_, row_);
}

int StepPacket::raised(std::size_t flag) const {
  return static_cast<int>(values_.at(quantities_ * lanes_ + flag));
}

std::size_t StepPacket::slot(std::size_t quantity, int lane) const {
  return quantity * lanes_ + static_cast<std::size_t>(lane);
}

}  // namespace lockstep::comm
