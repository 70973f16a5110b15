// How stored numbers become those that a model sees.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::data {

// Samples reach a model as (stored * scale - mean) / std. `mean` and `std` have one value for all numbers of
// a sample, or one for each index of its first dimension: each channel of an image [C, H, W], each feature of
// a flat sample [F].
struct Normalisation {
  double scale = 1;
  std::vector<double> mean = {0};
  std::vector<double> std = {1};

  bool operator==(const Normalisation&) const = default;

  // Parts of a sample that have values of their own: the longer of both lists.
  std::size_t groups() const { return mean.size() > std.size() ? mean.size() : std.size(); }
  double mean_of(std::size_t group) const { return mean[mean.size() == 1 ? 0 : group]; }
  double std_of(std::size_t group) const { return std[std.size() == 1 ? 0 : group]; }
};

// "scale 1, mean 0, std 1"; lists as "mean 0.1,0.2,0.3".
std::string text_of(const Normalisation& normalisation);

}  // namespace lockstep::data
