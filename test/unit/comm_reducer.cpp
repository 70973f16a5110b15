// The reducers with threads as ranks, as many as there are lanes; test/mpi has the same over MPI.
#include "comm/reducer.h"

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include "ranks.h"
#include "reducer_bench.h"

using namespace lockstep;
using comm::ReduceMode;

namespace {

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
          ReducerBench bench(std::move(transport), ReduceMode::exact, lanes, size, bucket);
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
  for (const auto mode : {ReduceMode::exact, ReduceMode::fast}) {
    for (int ranks = 1; ranks <= lanes; ++ranks) {
      as_ranks(ranks, {}, [&](std::unique_ptr<comm::Transport> transport) {
        const int rank = transport->rank();
        ReducerBench bench(std::move(transport), mode, lanes, 1000, 100);
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
          if (mode == ReduceMode::exact) need(same_bits(after, wanted), "the tree's sum");
        }
      });
    }
  }
}

TEST_CASE("a reducer takes its memory in the first step", "[comm]") {
  const std::vector<bool> all(8, true);
  std::vector<bool> short_step = all;
  short_step[5] = short_step[6] = short_step[7] = false;
  for (const auto mode : {ReduceMode::exact, ReduceMode::fast}) {
    for (const int ranks : {1, 3, 4}) {
      as_ranks(ranks, {}, [&](std::unique_ptr<comm::Transport> transport) {
        ReducerBench bench(std::move(transport), mode, 8, 1000, 100);
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
