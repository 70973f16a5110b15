// Run with any number of ranks: each case also splits the world, so that 1 to size() ranks are compared.
#include "comm/reducer.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>

#include "comm/host_communicator.h"
#include "comm/mpi_group.h"
#include "comm/mpi_transport.h"
#include "comm/step_packet.h"
#include "core/error.h"
#include "core/philox.h"
#include "device/cpu/cpu_device.h"
#include "ranks.h"

using namespace lockstep;
using comm::MpiGroup;

namespace {

// Values of widely different size, so that every change of order changes some sum.
std::vector<float> lane_gradient(int lane, std::size_t size) {
  PhiloxStream stream(7, Purpose::init, static_cast<std::uint64_t>(lane));
  std::vector<float> values(size);
  for (float& value : values) {
    const float sign = stream.next() % 2 == 0 ? 1.0f : -1.0f;
    value = sign * std::ldexp(to_unit_float(stream.next()), static_cast<int>(stream.below(20)));
  }
  return values;
}

// The definition, recursively: what the reducer must reproduce bit for bit.
std::vector<float> reference(int first, int width, const std::vector<bool>& present, std::size_t size) {
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

struct Way {
  std::int64_t bucket;
  bool overlap;
};

// What a rank has for the reducer: a device, a flat gradient of three parameters, which are finished from the
// front to the back but for the first, and a communicator of its own.
class Bench {
 public:
  Bench(const MpiGroup& ranks, comm::ReduceMode mode, int lanes, std::size_t size, std::int64_t bucket)
      : size_(static_cast<std::int64_t>(size)),
        own_(comm::lanes_of(ranks.rank(), ranks.size(), lanes)),
        comm_(comm::make_mpi_transport(ranks), {}),
        slices_{{0, size_ / 3}, {size_ / 3, size_ / 2 - size_ / 3}, {size_ / 2, size_ - size_ / 2}} {
    comm::ReducerOptions options;
    options.mode = mode;
    options.lanes = lanes;
    options.bucket = bucket;
    reducer_ = comm::make_reducer(comm_, device_, device_.zeros({size_}), slices_, options);
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
    const device::Tensor whole = device_.empty({size_});
    device_.upload(gradient, whole);
    for (const std::size_t parameter : {1, 0, 2}) {
      const comm::Slice& at = slices_[parameter];
      const auto from = whole.slice(at.first, {at.count});
      const auto to = place.gradient.slice(at.first, {at.count});
      if (place.accumulate) {
        device_.axpy(1.f, from, to);
      } else {
        device_.copy(from, to);
      }
      reducer_->finish_parameter(parameter);
    }
    reducer_->end_lane();
  }
  std::vector<float> values(const device::Tensor& tensor) {
    std::vector<float> result(sizes());
    device_.download(tensor, result);
    return result;
  }
  comm::Reducer& reducer() { return *reducer_; }
  const LaneRange& own() const { return own_; }
  std::int64_t allocations() const { return device_.pool().system_allocations(); }

 private:
  std::size_t sizes() const { return static_cast<std::size_t>(size_); }

  std::int64_t size_;
  LaneRange own_;
  device::CpuDevice device_;
  comm::HostCommunicator comm_;
  std::vector<comm::Slice> slices_;
  std::unique_ptr<comm::Reducer> reducer_;
};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

}  // namespace

TEST_CASE("exact reduction gives the tree's bits for every number of ranks", "[comm]") {
  for (const int lanes : {1, 2, 3, 4, 6, 8, 12, 16}) {
    for (const std::size_t size : {0, 1, 3, 1000}) {
      std::vector<std::vector<bool>> cases = {std::vector<bool>(static_cast<std::size_t>(lanes), true)};
      cases.emplace_back(static_cast<std::size_t>(lanes), false);  // nobody has samples
      for (std::uint64_t trial = 0; trial < 4; ++trial) {          // short last batches of every kind
        PhiloxStream stream(trial, Purpose::dropout, static_cast<std::uint64_t>(lanes));
        std::vector<bool>& present = cases.emplace_back(static_cast<std::size_t>(lanes));
        for (std::size_t lane = 0; lane < present.size(); ++lane) present[lane] = stream.below(3) != 0;
      }
      for (int ranks = 1; ranks <= std::min(lanes, world_size()); ++ranks) {
        const auto comm = first_ranks(ranks);
        if (!comm) continue;
        // Who sits where in the fabric changes nothing.
        std::vector<int> order(static_cast<std::size_t>(ranks));
        std::iota(order.rbegin(), order.rend(), 0);
        const auto backwards = comm->reordered(order);
        for (const Way way : {Way{1, true}, Way{1, false}, Way{192, true}, Way{1 << 20, false}}) {
          Bench bench(way.overlap ? *comm : *backwards, comm::ReduceMode::exact, lanes, size, way.bucket);
          for (const auto& present : cases) {
            std::vector<float> wanted = reference(0, comm::tree_width(lanes), present, size);
            wanted.resize(size);
            INFO("lanes " << lanes << " ranks " << ranks << " size " << size << " bucket " << way.bucket);
            CHECK(same_bits(bench.step(present, way.overlap), wanted));
          }
        }
      }
    }
  }
}

TEST_CASE("a step that a rank gives up leaves no rank waiting, and the next one is as ever", "[comm]") {
  constexpr int lanes = 6;
  const std::vector<bool> all(lanes, true);
  const std::vector<float> wanted = reference(0, comm::tree_width(lanes), all, 1000);
  for (const auto mode : {comm::ReduceMode::exact, comm::ReduceMode::fast}) {
    for (int ranks = 1; ranks <= std::min(lanes, world_size()); ++ranks) {
      const auto comm = first_ranks(ranks);
      if (!comm) continue;
      Bench bench(*comm, mode, lanes, 1000, 100);
      const std::vector<float> before = bench.step(all, true);
      for (int quitter = 0; quitter < ranks; ++quitter) {
        bench.begin(all, true);
        if (comm->rank() == quitter) {
          bench.reducer().abandon();
        } else {
          const LaneRange own = bench.own();
          for (int lane = own.first; lane < own.last; ++lane) bench.bring(lane, lane_gradient(lane, 1000));
          if (quitter % 2 == 0) {
            bench.reducer().finish();
          } else {
            bench.reducer().abandon();  // told to stop while it waited for a batch without samples
          }
        }
        const std::vector<float> after = bench.step(all, quitter % 2 == 1);
        CHECK(same_bits(after, before));
        if (mode == comm::ReduceMode::exact) CHECK(same_bits(after, wanted));
      }
    }
  }
}

TEST_CASE("a reducer takes its memory in the first step", "[comm]") {
  const MpiGroup comm(MPI_COMM_WORLD);
  const std::vector<bool> all(8, true);
  std::vector<bool> short_step = all;
  short_step[5] = short_step[6] = short_step[7] = false;
  for (const auto mode : {comm::ReduceMode::exact, comm::ReduceMode::fast}) {
    Bench bench(comm, mode, 8, 1000, 100);
    bench.step(all, true);
    const auto allocations = bench.allocations();
    for (const bool overlap : {true, false}) {
      bench.step(all, overlap);
      bench.step(short_step, overlap);
    }
    CHECK(bench.allocations() == allocations);
  }
}

TEST_CASE("the order of addition matters for these values", "[comm]") {
  // Else the test above would prove nothing.
  std::vector<float> naive = lane_gradient(0, 1000);
  for (int lane = 1; lane < 8; ++lane) {
    const auto next = lane_gradient(lane, 1000);
    for (std::size_t i = 0; i < naive.size(); ++i) naive[i] += next[i];
  }
  CHECK_FALSE(same_bits(naive, reference(0, 8, std::vector<bool>(8, true), 1000)));
}

TEST_CASE("exact reduction keeps the sign of a lone negative zero", "[comm]") {
  for (int ranks = 1; ranks <= std::min(3, world_size()); ++ranks) {
    if (auto comm = first_ranks(ranks)) {
      Bench bench(*comm, comm::ReduceMode::exact, 3, 1, 16);
      bench.begin({false, true, false}, false);
      if (bench.own().first <= 1 && 1 < bench.own().last) bench.bring(1, {-0.0f});
      const std::vector<float> sum = bench.values(bench.reducer().finish());
      CHECK(std::signbit(sum[0]));
      CHECK(sum[0] == 0.0f);
    }
  }
}

TEST_CASE("fast reduction sums what the ranks bring", "[comm]") {
  const MpiGroup comm(MPI_COMM_WORLD);
  constexpr int lanes = 9;
  const std::vector<std::size_t> sizes = {0, 1, 1000};
  for (const std::size_t size : sizes) {
    for (const Way way : {Way{1, true}, Way{1, false}, Way{192, true}, Way{1 << 20, false}}) {
      Bench bench(comm, comm::ReduceMode::fast, lanes, size, way.bucket);
      for (const bool last : {true, false}) {
        std::vector<bool> present(lanes, true);
        present[8] = present[7] = present[6] = last;  // else some rank of 3 or more has no samples
        bench.begin(present, way.overlap);
        float wanted = 0;
        for (int lane = 0; lane < lanes; ++lane) {
          if (!present[static_cast<std::size_t>(lane)]) continue;
          const auto mine = static_cast<float>(lane + 1);
          wanted += mine;
          const bool own = bench.own().first <= lane && lane < bench.own().last;
          if (own) bench.bring(lane, std::vector<float>(size, mine));
        }
        CHECK(bench.values(bench.reducer().finish()) == std::vector<float>(size, wanted));
      }
    }
  }
}

TEST_CASE("a reducer refuses what it cannot do", "[comm]") {
  const MpiGroup comm(MPI_COMM_WORLD);
  if (comm.size() > 1) {
    CHECK_THROWS_AS(Bench(comm, comm::ReduceMode::exact, comm.size() - 1, 3, 16), Error);
  }
  Bench bench(comm, comm::ReduceMode::exact, 64, 3, 16);
  std::vector<bool> present(64, true);
  const int first = bench.own().first;
  present[static_cast<std::size_t>(first + 1)] = false;
  bench.begin(present, false);
  CHECK_THROWS_AS(bench.reducer().finish(), Error);  // before any communication
  bench.bring(first, {1, 2, 3});
  CHECK_THROWS_AS(bench.reducer().begin_lane(first), Error);
  CHECK_THROWS_AS(bench.reducer().begin_lane(first + 1), Error);
  CHECK_THROWS_AS(bench.reducer().begin_lane(bench.own().last), Error);
}

TEST_CASE("a step packet gives the same sums for every number of ranks", "[comm]") {
  enum Quantity : std::size_t { loss, samples, quantities };
  enum Flag : std::size_t { stop, non_finite, flags };
  for (const int lanes : {1, 3, 8, 13}) {
    std::vector<double> losses;
    PhiloxStream stream(3, Purpose::init, 0);
    for (int lane = 0; lane < lanes; ++lane) losses.push_back(std::ldexp(stream.next(), -lane));
    losses[0] = -0.0;
    for (int ranks = 1; ranks <= std::min(lanes, world_size()); ++ranks) {
      if (auto comm = first_ranks(ranks)) {
        comm::StepPacket packet(lanes, quantities, flags, 2);
        for (int step = 0; step < 2; ++step) {
          packet.clear();
          const auto own = comm::lanes_of(comm->rank(), comm->size(), lanes);
          for (int lane = own.first; lane < own.last; ++lane) {
            packet.set(loss, lane, losses[static_cast<std::size_t>(lane)]);
            packet.set(samples, lane, lane);
            packet.attached(lane)[1] = static_cast<float>(lane);
          }
          if (step == 1 && comm->rank() == ranks - 1) packet.raise(stop);
          packet.gather(*comm);
          const double sum = packet.sum(loss);
          const double wanted = comm::tree_sum(losses);
          CHECK(std::memcmp(&sum, &wanted, sizeof sum) == 0);
          CHECK(packet.sum(samples) == lanes * (lanes - 1) / 2);
          CHECK(packet.raised(stop) == step);
          CHECK(packet.raised(non_finite) == 0);
          CHECK(packet.value(samples, lanes - 1) == lanes - 1);
          for (int lane = 0; lane < lanes; ++lane) {
            CHECK(packet.attached(lane)[1] == static_cast<float>(lane));
          }
        }
      }
    }
  }
}
