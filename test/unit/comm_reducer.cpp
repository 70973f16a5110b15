// The reducers with threads as ranks, as many as there are lanes; test/mpi has the same over MPI.
#include "comm/reducer.h"

#include <fmt/format.h>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "collective_checks.h"
#include "ranks.h"
#include "reducer_bench.h"

using namespace lockstep;
using comm::ReduceMode;

namespace {

constexpr std::array sums{exact_sum, fast_sum, rounded_sum};

std::vector<std::vector<bool>> some_without_samples(std::size_t lanes) {
  std::vector<std::vector<bool>> cases = {std::vector<bool>(lanes, true), std::vector<bool>(lanes, false)};
  for (std::uint64_t trial = 0; trial < 3; ++trial) {
    PhiloxStream stream(trial, Purpose::dropout, lanes);
    std::vector<bool>& present = cases.emplace_back(lanes);
    for (std::size_t lane = 0; lane < lanes; ++lane) present[lane] = stream.below(3) != 0;
  }
  return cases;
}

}  // namespace

TEST_CASE("exact sums have one result on 1 to 8 ranks, in buckets of any size, overlapped or not", "[comm]") {
  constexpr std::size_t size = 700;
  for (const int lanes : {1, 2, 5, 8}) {
    const auto cases = some_without_samples(static_cast<std::size_t>(lanes));
    std::vector<std::vector<float>> wanted;
    for (const auto& present : cases) {
      wanted.push_back(reference(0, comm::tree_width(lanes), present, size));
      wanted.back().resize(size);
    }
    for (int ranks = 1; ranks <= lanes; ++ranks) {
      for (const std::int64_t bucket : {1, 160, 1 << 20}) {
        as_ranks(ranks, {}, [&](std::unique_ptr<comm::Transport> transport) {
          ReducerBench bench(std::move(transport), exact_sum, lanes, size, bucket);
          for (const bool overlap : {false, true}) {
            for (std::size_t i = 0; i < cases.size(); ++i) {
              need(same_bits(bench.step(cases[i], overlap), wanted[i]),
                   fmt::format("lanes {} ranks {} bucket {} overlap {} case {}", lanes, ranks, bucket,
                               overlap, i));
            }
          }
        });
      }
    }
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

TEST_CASE("a step that a rank gives up leaves no rank waiting, and the next one is as ever", "[comm]") {
  constexpr int lanes = 6;
  const std::vector<bool> all(lanes, true);
  const std::vector<float> wanted = reference(0, comm::tree_width(lanes), all, 1000);
  for (const Sum& sum : sums) {
    for (int ranks = 1; ranks <= lanes; ++ranks) {
      as_ranks(ranks, {}, [&](std::unique_ptr<comm::Transport> transport) {
        const int rank = transport->rank();
        ReducerBench bench(std::move(transport), sum, lanes, 1000, 100);
        const std::vector<float> before = bench.step(all, true);
        for (int quitter = 0; quitter < ranks; ++quitter) {
          bench.begin(all, true);
          if (rank == quitter) {
            bench.reducer().abandon();
          } else {
            for (int lane = bench.own().first; lane < bench.own().last; ++lane) {
              bench.bring(lane, lane_gradient(lane, 1000));
            }
            if (quitter % 2 == 0) {
              bench.reducer().finish();
            } else {
              bench.reducer().abandon();  // told to stop while it waited for a batch without samples
            }
          }
          const std::vector<float> after = bench.step(all, quitter % 2 == 1);
          need(same_bits(after, before), "the same sum as before the step that was given up");
          if (sum.mode == ReduceMode::exact) need(same_bits(after, wanted), "the tree's sum");
        }
      });
    }
  }
}

TEST_CASE("a reducer takes its memory in the first step", "[comm]") {
  const std::vector<bool> all(8, true);
  std::vector<bool> short_step = all;
  short_step[5] = short_step[6] = short_step[7] = false;
  for (const Sum& sum : sums) {
    for (const int ranks : {1, 3, 4}) {
      as_ranks(ranks, {}, [&](std::unique_ptr<comm::Transport> transport) {
        ReducerBench bench(std::move(transport), sum, 8, 1000, 100);
        bench.step(all, true);
        bench.mark_allocations();
        for (const bool overlap : {true, false}) {
          bench.step(all, overlap);
          bench.step(short_step, overlap);
        }
        need(bench.new_allocations() == 0, "no memory after the first step");
      });
    }
  }
}

// Each rank's share is rounded once, and their sum once; what is added between in f32 is far more precise. By
// recursive doubling (small), directly (large, up to 4 ranks) and in two levels (large, more ranks).
TEST_CASE("a sum of rounded gradients is that of all shares to half a unit in the last place", "[comm]") {
  using device::DType;
  constexpr int lanes = 6;
  std::vector<bool> some(lanes, true);
  some[4] = some[5] = false;  // the last of many ranks has no samples
  for (const std::size_t size : {std::size_t{1}, std::size_t{1001}, std::size_t{300'000}}) {
    std::vector<std::vector<float>> gradients;
    for (int lane = 0; lane < lanes; ++lane) gradients.push_back(lane_gradient(lane, size));
    for (const int ranks : {2, 3, 4, 6}) {
      for (const auto& present : {std::vector<bool>(lanes, true), some}) {
        std::vector<double> wanted(size);
        std::vector<double> largest(size);
        for (int rank = 0; rank < ranks; ++rank) {
          const LaneRange own = comm::lanes_of(rank, ranks, lanes);
          std::vector<float> share(size);
          for (int lane = own.first; lane < own.last; ++lane) {
            const auto at = static_cast<std::size_t>(lane);
            for (std::size_t i = 0; i < size && present[at]; ++i) share[i] += gradients[at][i];
          }
          for (std::size_t i = 0; i < size; ++i) {
            const double term = collective_checks::rounded(share[i], DType::bf16);
            wanted[i] += term;
            largest[i] += std::abs(term);
          }
        }
        for (const bool overlap : {false, true}) {
          std::vector<std::vector<float>> results(static_cast<std::size_t>(ranks));
          as_ranks(ranks, {}, [&](std::unique_ptr<comm::Transport> transport) {
            std::vector<float>& result = results[static_cast<std::size_t>(transport->rank())];
            ReducerBench bench(std::move(transport), rounded_sum, lanes, size, 100'000);
            bench.begin(present, overlap);
            for (int lane = bench.own().first; lane < bench.own().last; ++lane) {
              const auto at = static_cast<std::size_t>(lane);
              if (present[at]) bench.bring(lane, gradients[at]);
            }
            result = bench.values(bench.reducer().finish());
          });
          INFO("size " << size << ", " << ranks << " ranks, overlap " << overlap);
          std::size_t wrong = 0;
          for (std::size_t i = 0; i < size; ++i) {
            const double half_unit = wanted[i] == 0 ? 0 : std::ldexp(1., std::ilogb(wanted[i]) - 8);
            const double added = std::ldexp(largest[i] * ranks, -24);  // by rounding each addition to f32
            if (!(std::abs(results[0][i] - wanted[i]) <= half_unit + added)) ++wrong;
          }
          CHECK(wrong == 0);
          for (const auto& result : results) CHECK(same_bits(result, results[0]));
        }
      }
    }
  }
}

TEST_CASE("rounded sums leave zeros, one rank's gradient and numbers that are none as they are", "[comm]") {
  const std::vector<bool> all(4, true);
  const float inf = std::numeric_limits<float>::infinity();
  for (const int ranks : {1, 2, 4}) {
    as_ranks(ranks, {}, [&](std::unique_ptr<comm::Transport> transport) {
      ReducerBench bench(std::move(transport), rounded_sum, 4, 5, 16);
      bench.begin(all, true);
      for (int lane = bench.own().first; lane < bench.own().last; ++lane) {
        bench.bring(lane, {0.f, lane == 0 ? 1.00390625f : 0.f, lane == 1 ? NAN : 1.f, inf, -1.f});
      }
      const std::vector<float> sum = bench.values(bench.reducer().finish());
      need(same_bits({sum[0]}, {0.f}), "zero stays zero");
      need(sum[1] == (ranks == 1 ? 1.00390625f : 1.f), "1 + 2^-8 is rounded to even where it travels");
      need(std::isnan(sum[2]) && sum[3] == inf && sum[4] == -4.f, "NaN, infinity, -4");
      bench.begin(std::vector<bool>(4, false), false);
      need(bench.values(bench.reducer().finish()) == std::vector<float>(5), "a step without samples");
    });
  }
}

TEST_CASE("exact sums refuse 16-bit values", "[comm]") {
  as_ranks(1, {}, [&](std::unique_ptr<comm::Transport> transport) {
    try {
      const ReducerBench bench(std::move(transport), {ReduceMode::exact, device::DType::bf16}, 1, 3, 16);
    } catch (const Error& error) {
      return need_text(error.what(), "exact sums of bf16");
    }
    need(false, "an error");
  });
}
