#include "comm/rank_order.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "core/philox.h"

using lockstep::PhiloxStream;
using lockstep::Purpose;
using lockstep::comm::order_by_topology;
using lockstep::comm::Place;

namespace {

std::vector<int> order_of(const std::vector<Place>& places) {
  return order_by_topology(places).ranks;
}

// The lowest rank of each run of ranks with the same name, as the order goes; a name that comes back after
// another one appears twice.
std::vector<std::pair<std::string, int>> runs_of(const std::vector<int>& order,
                                                 const std::vector<std::string>& names) {
  std::vector<std::pair<std::string, int>> runs;
  for (const int rank : order) {
    const std::string& name = names[static_cast<std::size_t>(rank)];
    if (runs.empty() || runs.back().first != name) runs.emplace_back(name, rank);
    runs.back().second = std::min(runs.back().second, rank);
  }
  return runs;
}

}  // namespace

TEST_CASE("ranks dealt to nodes in turn are put together by node and switch", "[comm]") {
  const std::vector<Place> places = {{"root/s0", "n1"}, {"root/s1", "n2"}, {"root/s0", "n3"},
                                     {"root/s1", "n4"}, {"root/s0", "n1"}, {"root/s1", "n2"},
                                     {"root/s0", "n3"}, {"root/s1", "n4"}};
  const auto order = order_by_topology(places);
  CHECK(order.ranks == std::vector<int>{0, 4, 2, 6, 1, 5, 3, 7});
  CHECK_FALSE(order.is_given_order());
  CHECK(order.groups == 2);
  CHECK(order.hosts == 4);
}

TEST_CASE("an order that fits the topology is kept", "[comm]") {
  const auto order = order_by_topology(
      std::vector<Place>{{"root/s1", "b"}, {"root/s1", "b"}, {"root/s1", "a"}, {"root/s0", "z"}});
  CHECK(order.ranks == std::vector<int>{0, 1, 2, 3});
  CHECK(order.is_given_order());
  CHECK(order_by_topology({}).is_given_order());
}

TEST_CASE("switches below one switch follow each other, too", "[comm]") {
  CHECK(order_of({{"root/a/s0", "n0"},
                  {"root/b/s2", "n1"},
                  {"root/a/s1", "n2"},
                  {"root/a/s0", "n3"},
                  {"root/b/s3", "n4"}}) == std::vector<int>{0, 3, 2, 1, 4});
}

TEST_CASE("switches of one name below different switches are different ones", "[comm]") {
  CHECK(order_of({{"a/s", "n0"}, {"b/s", "n1"}, {"a/s", "n2"}}) == std::vector<int>{0, 2, 1});
}

TEST_CASE("hosts may hang at different levels", "[comm]") {
  CHECK(order_of({{"root", "n0"}, {"root/s0", "n1"}, {"root", "n2"}, {"root/s0", "n3"}, {"root", "n0"}}) ==
        std::vector<int>{0, 4, 1, 3, 2});
}

TEST_CASE("where one rank's place is unknown the given order stays", "[comm]") {
  const auto order =
      order_by_topology(std::vector<Place>{{"s0", "n0"}, {"s1", "n1"}, {"s0", "n2"}, {"", "n3"}});
  CHECK(order.ranks == std::vector<int>{0, 1, 2, 3});
  CHECK(order.groups == 0);
}

TEST_CASE("a host whose ranks name different switches is not torn apart", "[comm]") {
  CHECK(order_of({{"s0", "n0"}, {"s1", "n1"}, {"s0", "n1"}, {"s1", "n0"}}) == std::vector<int>{0, 3, 1, 2});
}

TEST_CASE("odd paths give an order as well", "[comm]") {
  CHECK(order_of({{"/", "n0"}, {"//x/", "n1"}, {"s[0,4-8]", "n2"}, {"/", ""}, {"s[0,4-8]", "n2"}}) ==
        std::vector<int>{0, 1, 3, 2, 4});
}

TEST_CASE("in any order each group is in one piece, and the groups go by their lowest ranks", "[comm]") {
  for (std::uint64_t trial = 0; trial < 200; ++trial) {
    PhiloxStream stream(trial, Purpose::init, 0);
    std::vector<Place> places(1 + stream.below(40));
    std::vector<std::string> hosts, leaves, tops;
    for (Place& place : places) {
      const auto node = stream.below(12);
      const std::string top = "t" + std::to_string(node % 2);
      place = {"root/" + top + "/s" + std::to_string(node % 6), "n" + std::to_string(node)};
      hosts.push_back(place.host);
      leaves.push_back(place.topology);
      tops.push_back(top);
    }
    const auto order = order_of(places);
    INFO("trial " << trial);
    CHECK(std::set<int>(order.begin(), order.end()).size() == places.size());
    REQUIRE(order.front() == 0);
    // A switch's place among its siblings: by the lowest rank below it.
    for (const auto& names : {hosts, leaves, tops}) {
      const auto runs = runs_of(order, names);
      CHECK(std::map<std::string, int>(runs.begin(), runs.end()).size() == runs.size());
    }
    const auto runs = runs_of(order, tops);
    CHECK(std::is_sorted(runs.begin(), runs.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; }));
    for (std::size_t i = 1; i < order.size(); ++i) {
      const auto a = static_cast<std::size_t>(order[i - 1]), b = static_cast<std::size_t>(order[i]);
      if (hosts[a] == hosts[b]) CHECK(a < b);
    }
  }
}
