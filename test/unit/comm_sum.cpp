// Sums in 32 and 16 bits, and the algorithms that make them over ranks.
#include <catch2/catch.hpp>
#include <cstring>
#include <limits>
#include <random>

#include "collective_checks.h"
#include "comm/choice.h"
#include "comm/direct.h"
#include "comm/doubling.h"
#include "comm/host_sum.h"
#include "comm/ring.h"
#include "comm/sum.h"
#include "core/clock.h"
#include "device/half.h"
#include "ranks.h"

namespace {

using namespace lockstep::comm;
using collective_checks::bits_of;
using lockstep::device::DType;

constexpr double patience = 3600;

using Bytes = std::vector<std::byte>;

// Small whole numbers: every order of adding them makes the same sum, in every type.
float whole_value(int rank, std::size_t i) {
  return static_cast<float>((static_cast<std::size_t>(rank) * 7 + i * 13) % 11) - 5;
}

// Values of all sizes, whose sum depends on the order.
float rough_value(int rank, std::size_t i) {
  std::mt19937 random(static_cast<unsigned>(rank * 1000003) + static_cast<unsigned>(i));
  return std::ldexp(static_cast<float>(random() % 2000003) - 1000001, static_cast<int>(random() % 24) - 30);
}

using Value = float (*)(int rank, std::size_t i);

Bytes data_of(DType dtype, Value value, int rank, std::size_t count) {
  std::vector<float> wide(count);
  for (std::size_t i = 0; i < count; ++i) wide[i] = value(rank, i);
  Bytes result(count * size_of(dtype));
  narrow(dtype, wide.data(), result.data(), count);
  return result;
}

// In rank order, rounded once.
Bytes ordered_sum(DType dtype, Value value, int ranks, std::size_t count) {
  std::vector<float> sum(count);
  for (int rank = 0; rank < ranks; ++rank) {
    const Bytes term = data_of(dtype, value, rank, count);
    std::vector<float> wide(count);
    widen(dtype, term.data(), wide.data(), count);
    for (std::size_t i = 0; i < count; ++i) sum[i] = rank == 0 ? wide[i] : sum[i] + wide[i];
  }
  Bytes result(count * size_of(dtype));
  narrow(dtype, sum.data(), result.data(), count);
  return result;
}

Team everybody(Transport& transport) {
  Team team{transport, {}, transport.rank()};
  for (int rank = 0; rank < transport.size(); ++rank) team.ranks.push_back(rank);
  return team;
}

constexpr RingFlow small_ring{64, 3};
constexpr DirectFlow small_direct{64, 4};

}  // namespace

TEST_CASE("16-bit values are rounded to the nearest, ties to even") {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    std::mt19937 random(3);
    std::vector<float> values{0,
                              -0.F,
                              1,
                              65504,
                              -65519.9F,
                              6e-8F,
                              2.9e-8F,
                              3.1e-8F,
                              6.1e-5F,
                              1 + 1 / 256.F,
                              1 + 3 / 256.F,
                              1 + 1 / 2048.F,
                              1 + 3 / 2048.F};
    for (int i = 0; i < 20000; ++i) {
      values.push_back(std::ldexp(static_cast<float>(random()), static_cast<int>(random() % 42) - 58));
    }
    Bytes narrowed(values.size() * 2);
    narrow(dtype, values.data(), narrowed.data(), values.size());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::uint16_t bits = 0;
      std::memcpy(&bits, narrowed.data() + 2 * i, 2);
      if (std::abs(values[i]) < 65520 && bits != bits_of(static_cast<double>(values[i]), dtype)) ++wrong;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("16-bit values that are no numbers, or too large, stay so") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> values{infinity, -infinity, std::numeric_limits<float>::quiet_NaN(),
                                  65520,    3e38F,     std::numeric_limits<float>::max()};
  for (const DType dtype : {DType::bf16, DType::f16}) {
    Bytes narrowed(values.size() * 2);
    std::vector<float> back(values.size());
    narrow(dtype, values.data(), narrowed.data(), values.size());
    widen(dtype, narrowed.data(), back.data(), back.size());
    CHECK(back[0] == infinity);
    CHECK(back[1] == -infinity);
    CHECK(std::isnan(back[2]));
    CHECK((back[3] == infinity) == (dtype == DType::f16));
    CHECK((back[4] == infinity) == (dtype == DType::f16));
    CHECK(back[5] == infinity);
  }
}

TEST_CASE("every 16-bit value survives the way to f32 and back") {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    std::vector<std::uint16_t> all(65536);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
    std::vector<float> wide(all.size());
    std::vector<std::uint16_t> back(all.size());
    widen(dtype, reinterpret_cast<const std::byte*>(all.data()), wide.data(), all.size());
    narrow(dtype, wide.data(), reinterpret_cast<std::byte*>(back.data()), all.size());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!std::isnan(wide[i]) && back[i] != all[i]) ++wrong;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE(
    "sums whose order does not matter are exact with each algorithm, for any number of ranks and size") {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (int ranks = 1; ranks <= 8; ++ranks) {
      as_ranks(ranks, {}, [&](std::unique_ptr<Transport> transport) {
        const Team team = everybody(*transport);
        for (const std::size_t count : {0, 1, 2, 7, 63, 64, 1000, 1001}) {
          const Bytes wanted = ordered_sum(dtype, whole_value, ranks, count);
          const Bytes mine = data_of(dtype, whole_value, transport->rank(), count);
          const auto deadline = lockstep::monotonic_seconds() + patience;
          Bytes data = mine;
          direct_all_reduce(team, dtype, data, small_direct, deadline);
          need(data == wanted, "direct, " + std::to_string(count));
          data = mine;
          doubling_all_reduce(team, dtype, data, deadline);
          need(data == wanted, "doubling, " + std::to_string(count));
          if (dtype != DType::f32) continue;
          data = mine;
          ring_all_reduce(team, data, small_ring, deadline);
          need(data == wanted, "ring, " + std::to_string(count));
          data = mine;
          ring_reduce_scatter(team, data, small_ring, deadline);
          const auto slice = slice_of(std::span(data), 4, team.me, ranks);
          const auto wanted_slice = slice_of(std::span(wanted), 4, team.me, ranks);
          need(std::equal(slice.begin(), slice.end(), wanted_slice.begin()), "ring's slice");
        }
      });
    }
  }
}

// Fails as soon as two terms change places.
TEST_CASE("the direct algorithm adds in the order of the ranks, bit for bit") {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const int ranks : {2, 3, 5}) {
      constexpr std::size_t count = 1001;
      const Bytes wanted = ordered_sum(dtype, rough_value, ranks, count);
      as_ranks(ranks, {}, [&](std::unique_ptr<Transport> transport) {
        Bytes data = data_of(dtype, rough_value, transport->rank(), count);
        direct_all_reduce(everybody(*transport), dtype, data, small_direct,
                          lockstep::monotonic_seconds() + patience);
        need(data == wanted, "the order");
      });
    }
  }
}

TEST_CASE("all ranks have the same bits, with each algorithm and in two levels") {
  const std::vector<std::vector<std::string>> places{{"a", "b", "c"},
                                                     {"a", "a", "a"},
                                                     {"a", "a", "b", "b"},
                                                     {"a", "b", "a", "b", "a"},
                                                     {"a", "a", "b", "c", "c", "c"}};
  constexpr std::size_t count = 300001;  // more than node memory holds at once
  for (const auto& hosts : places) {
    const auto ranks = static_cast<int>(hosts.size());
    for (const DType dtype : {DType::f32, DType::bf16}) {
      for (const auto algorithm : {Algorithm::automatic, Algorithm::ring}) {
        std::vector<Bytes> rough(hosts.size());
        as_ranks(ranks, hosts, [&](std::unique_ptr<Transport> transport) {
          HostSum sum(*transport, algorithm);
          const auto deadline = lockstep::monotonic_seconds() + patience;
          for (const std::size_t size : {count, std::size_t{5}, count}) {
            const Bytes want = ordered_sum(dtype, whole_value, ranks, size);
            Bytes data = data_of(dtype, whole_value, transport->rank(), size);
            sum.all_reduce(dtype, data, deadline);
            need(data == want, "an exact sum of " + std::to_string(size));
          }
          Bytes& data = rough[static_cast<std::size_t>(transport->rank())];
          data = data_of(dtype, rough_value, transport->rank(), 5000);
          sum.all_reduce(dtype, data, deadline);
        });
        for (const Bytes& data : rough) CHECK(data == rough[0]);
      }
    }
  }
}

TEST_CASE("the choice of an algorithm depends on size and places alone") {
  const std::vector<std::string> apart{"a", "b", "c"};
  const std::vector<std::string> pairs{"a", "a", "b", "b", "b"};
  CHECK(places_of(pairs).node == std::vector<int>{0, 0, 1, 1, 1});
  CHECK(places_of(pairs).ranks_per_node() == 2);
  for (const auto& hosts : {apart, pairs}) {
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
      const auto table = choices(places_of(hosts), dtype);
      REQUIRE(!table.empty());
      CHECK(table.front().bytes == 0);
      for (const Choice& each : table) {
        const Choice chosen = choose(Algorithm::automatic, places_of(hosts), dtype, each.bytes);
        CHECK(chosen.algorithm == each.algorithm);
        CHECK(chosen.two_levels == each.two_levels);
      }
    }
  }
  for (const auto algorithm :
       {Algorithm::automatic, Algorithm::ring, Algorithm::direct, Algorithm::doubling, Algorithm::mpi}) {
    CHECK(algorithm_named(name_of(algorithm)) == algorithm);
  }
  CHECK(!algorithm_named("tree"));
}
