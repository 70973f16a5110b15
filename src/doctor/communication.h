// How long sums of gradients take, as the communication probe measures and leaves it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.h"
#include "doctor/facts.h"
#include "doctor/probe.h"

namespace lockstep::doctor {

// The name of NCCL's way; the others have that of their algorithm (comm/choice.h).
constexpr std::string_view nccl_way = "nccl";

// One way of summing.
struct SumWay {
  std::string name;
  device::Device& device;  // whose tensors are summed
  device::DType type;
  std::function<void(const device::Tensor& data)> sum;
};

// Collective. Rank 0 gets facts for sum_times(), and from which size on sums were left out, since they would
// take too long.
void time_sums(Context& context, const SumWay& way, Facts& mine);

struct SumTime {
  double bytes = 0;
  double seconds = 0;
};

// Of rank 0's facts, by rising size.
std::vector<SumTime> sum_times(const Facts& facts, const std::string& way);
// Those of the way that training takes.
std::vector<SumTime> training_sum_times(const Facts& facts);
// Whether that is NCCL's, whose times need not be there.
bool sums_by_nccl(const Facts& facts);

// Bytes per second that every rank sends at least in a sum of `bytes`, and receives: 2 (R - 1) / R of them.
// What a link can carry is its bound.
double bus_rate(double bytes, double seconds, std::size_t ranks);

}  // namespace lockstep::doctor
