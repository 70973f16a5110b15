// A flat gradient cut into buckets: what is summed over the ranks at once, as soon as backward has finished
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lockstep::comm {

// Elements [first, first + count) of a flat tensor.
struct Slice {
  std::int64_t first = 0;
  std::int64_t count = 0;
  bool operator==(const Slice&) const = default;
};

class BucketPlan {
 public:
  // `parameters`: by number, where each lies in the `elements` of the gradient; what lies between them is
  // padding. Each bucket has `bucket` elements but the last one, which has the rest; none is empty.
  BucketPlan(std::span<const Slice> parameters, std::int64_t elements, std::int64_t bucket);

  std::span<const Slice> buckets() const { return buckets_; }

  // No parameter is final any more.
  void restart();
  // The parameter's gradient is final; once for each. Returns how many buckets from the front are: buckets
  // are summed in order, which is the same on every rank whatever the order of finishing.
  std::size_t finish(std::size_t parameter);

 private:
  std::vector<Slice> buckets_;
  std::vector<Slice> touched_;  // by parameter: the buckets that it lies in
  std::vector<int> missing_at_start_;
  std::vector<int> missing_;  // by bucket: parameters in it that are not final
  std::size_t final_ = 0;     // buckets from the front
};

}  // namespace lockstep::comm
