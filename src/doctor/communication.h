// Times of all-reduce as the communication probe leaves them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "doctor/facts.h"

namespace lockstep::doctor {

struct SumTime {
  double bytes = 0;
  double seconds = 0;
};

// Of rank 0's facts, by rising size.
std::vector<SumTime> sum_times(const Facts& facts, const std::string& algorithm);

// Bytes per second that every rank sends at least in a sum of `bytes`, and receives: 2 (R - 1) / R of them.
// What a link can carry is its bound.
double bus_rate(double bytes, double seconds, std::size_t ranks);

}  // namespace lockstep::doctor
