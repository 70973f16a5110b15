// What the tests of the reducers share: gradients whose sums show every change of order, and a rank that
// brings them.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "comm/host_communicator.h"
#include "comm/reducer.h"
#include "core/philox.h"
#include "device/cpu/cpu_device.h"

// How gradients are summed.
struct Sum {
  lockstep::comm::ReduceMode mode;
  lockstep::device::DType wire = lockstep::device::DType::f32;
};
inline constexpr Sum exact_sum{lockstep::comm::ReduceMode::exact};
inline constexpr Sum fast_sum{lockstep::comm::ReduceMode::fast};
inline constexpr Sum rounded_sum{lockstep::comm::ReduceMode::fast, lockstep::device::DType::bf16};

// How a step is made.
struct Way {
  std::int64_t bucket;
  bool overlap;
};

// Values of widely different size, so that every change of order changes some sum.
inline std::vector<float> lane_gradient(int lane, std::size_t size) {
  lockstep::PhiloxStream stream(7, lockstep::Purpose::init, static_cast<std::uint64_t>(lane));
  std::vector<float> values(size);
  for (float& value : values) {
    const float sign = stream.next() % 2 == 0 ? 1.0f : -1.0f;
    value = sign * std::ldexp(lockstep::to_unit_float(stream.next()), static_cast<int>(stream.below(20)));
  }
  return values;
}

// The definition, recursively: what the reducer must reproduce bit for bit.
inline std::vector<float> reference(int first, int width, const std::vector<bool>& present,
                                    std::size_t size) {
  if (width == 1) {
    const auto lane = static_cast<std::size_t>(first);
    return lane < present.size() && present[lane] ? lane_gradient(first, size) : std::vector<float>();
  }
  std::vector<float> left = reference(first, width / 2, present, size);
  const std::vector<float> right = reference(first + width / 2, width / 2, present, size);
  if (left.empty()) return right;
  for (std::size_t i = 0; i < right.size(); ++i) left[i] += right[i];
  return left;
}

// What a rank has for the reducer: a device, a flat gradient of three parameters, which are finished from the
// front to the back but for the first, and a communicator of its own.
class ReducerBench {
 public:
  ReducerBench(std::unique_ptr<lockstep::comm::Transport> transport, const Sum& sum, int lanes,
               std::size_t size, std::int64_t bucket)
      : ReducerBench(std::make_unique<lockstep::device::CpuDevice>(),
                     std::make_unique<lockstep::comm::HostCommunicator>(
                         std::move(transport), lockstep::comm::HostCommunicatorOptions{}),
                     sum, lanes, size, bucket) {}
  // The communicator is one for the device's tensors.
  ReducerBench(std::unique_ptr<lockstep::device::Device> device,
               std::unique_ptr<lockstep::comm::Communicator> comm, const Sum& sum, int lanes,
               std::size_t size, std::int64_t bucket)
      : size_(static_cast<std::int64_t>(size)),
        own_(lockstep::comm::lanes_of(comm->rank(), comm->size(), lanes)),
        device_(std::move(device)),
        comm_(std::move(comm)),
        slices_{{0, size_ / 3}, {size_ / 3, size_ / 2 - size_ / 3}, {size_ / 2, size_ - size_ / 2}} {
    lockstep::comm::ReducerOptions options;
    options.mode = sum.mode;
    options.wire = sum.wire;
    options.lanes = lanes;
    options.bucket = bucket;
    reducer_ = lockstep::comm::make_reducer(*comm_, *device_, device_->zeros({size_}), slices_, options);
  }

  // One step in which lane v brings lane_gradient(v).
  std::vector<float> step(const std::vector<bool>& present, bool overlap) {
    begin(present, overlap);
    for (int lane = own_.first; lane < own_.last; ++lane) {
      if (present[static_cast<std::size_t>(lane)]) bring(lane, lane_gradient(lane, sizes()));
    }
    return values(reducer_->finish());
  }
  void begin(const std::vector<bool>& present, bool overlap) {
    const std::vector<std::uint8_t> marks(present.begin(), present.end());
    reducer_->begin_step(marks, overlap);
  }
  void bring(int lane, const std::vector<float>& gradient) {
    const auto place = reducer_->begin_lane(lane);
    const lockstep::device::Tensor whole = device_->empty({size_});
    device_->upload(gradient, whole);
    for (const std::size_t parameter : {1, 0, 2}) {
      const lockstep::comm::Slice& at = slices_[parameter];
      const auto from = whole.slice(at.first, {at.count});
      const auto to = place.gradient.slice(at.first, {at.count});
      if (place.accumulate) {
        device_->axpy(1.f, from, to);
      } else {
        device_->copy(from, to);
      }
      reducer_->finish_parameter(parameter);
    }
    reducer_->end_lane();
  }
  std::vector<float> values(const lockstep::device::Tensor& tensor) {
    std::vector<float> result(sizes());
    device_->download(tensor, result);
    return result;
  }
  lockstep::comm::Reducer& reducer() { return *reducer_; }
  const lockstep::LaneRange& own() const { return own_; }
  void mark_allocations() { marked_ = device_->pool().system_allocations(); }
  std::int64_t new_allocations() const { return device_->pool().system_allocations() - marked_; }

 private:
  std::size_t sizes() const { return static_cast<std::size_t>(size_); }

  std::int64_t size_;
  lockstep::LaneRange own_;
  std::unique_ptr<lockstep::device::Device> device_;
  std::unique_ptr<lockstep::comm::Communicator> comm_;
  std::vector<lockstep::comm::Slice> slices_;
  std::unique_ptr<lockstep::comm::Reducer> reducer_;
  std::int64_t marked_ = 0;
};

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}
