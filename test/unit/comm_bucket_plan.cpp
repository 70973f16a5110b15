#include "comm/bucket_plan.h"

#include <catch2/catch.hpp>
#include <vector>

using lockstep::comm::BucketPlan;
using lockstep::comm::Slice;

namespace {

std::vector<Slice> buckets_of(const BucketPlan& plan) {
  return {plan.buckets().begin(), plan.buckets().end()};
}

}  // namespace

TEST_CASE("a gradient is cut into equal buckets and a rest", "[comm]") {
  CHECK(buckets_of(BucketPlan({}, 0, 4)).empty());
  CHECK(buckets_of(BucketPlan({}, 4, 4)) == std::vector<Slice>{{0, 4}});
  CHECK(buckets_of(BucketPlan({}, 9, 4)) == std::vector<Slice>{{0, 4}, {4, 4}, {8, 1}});
}

TEST_CASE("a bucket is complete with the last parameter in it, and not before the buckets in front of it",
          "[comm]") {
  // Padding after each; the second reaches over three buckets, the third is empty.
  const std::vector<Slice> parameters = {{0, 3}, {4, 14}, {18, 0}, {20, 8}};
  BucketPlan plan(parameters, 30, 8);
  for (int step = 0; step < 2; ++step) {
    CHECK(plan.finish(3) == 0);
    CHECK(plan.finish(2) == 0);
    CHECK(plan.finish(0) == 0);
    CHECK(plan.finish(1) == 4);
    plan.restart();
    CHECK(plan.finish(1) == 0);
    CHECK(plan.finish(0) == 2);
    CHECK(plan.finish(2) == 2);
    CHECK(plan.finish(3) == 4);
    plan.restart();
  }
}
