#include "comm/bucket_plan.h"

#include <algorithm>

namespace lockstep::comm {

BucketPlan::BucketPlan(std::span<const Slice> parameters, std::int64_t elements, std::int64_t bucket) {
  for (std::int64_t first = 0; first < elements; first += bucket) {
    buckets_.push_back({first, std::min(bucket, elements - first)});
  }
  missing_at_start_.resize(buckets_.size());
  for (const Slice& parameter : parameters) {
    Slice touched{parameter.first / bucket, 0};
    if (parameter.count > 0) {
      touched.count = (parameter.first + parameter.count - 1) / bucket - touched.first + 1;
    }
    for (std::int64_t i = 0; i < touched.count; ++i) {
      ++missing_at_start_[static_cast<std::size_t>(touched.first + i)];
    }
    touched_.push_back(touched);
  }
  restart();
}

void BucketPlan::restart() {
  missing_ = missing_at_start_;
  final_ = 0;
}

std::size_t BucketPlan::finish(std::size_t parameter) {
  const Slice touched = touched_[parameter];
  for (std::int64_t i = 0; i < touched.count; ++i) --missing_[static_cast<std::size_t>(touched.first + i)];
  while (final_ < missing_.size() && missing_[final_] == 0) ++final_;
  return final_;
}

}  // namespace lockstep::comm
