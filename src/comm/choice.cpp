#include "comm/choice.h"

#include <algorithm>
#include <array>
#include <map>

#include "core/error.h"

namespace lockstep::comm {

namespace {

struct Name {
  Algorithm algorithm;
  std::string_view text;
};

constexpr std::array names{Name{Algorithm::automatic, "auto"}, Name{Algorithm::ring, "ring"},
                           Name{Algorithm::direct, "direct"}, Name{Algorithm::doubling, "doubling"},
                           Name{Algorithm::mpi, "mpi"}};

std::vector<int> ranks_of_nodes(const Places& places) {
  std::vector<int> ranks(static_cast<std::size_t>(places.nodes()));
  for (const int node : places.node) ++ranks[static_cast<std::size_t>(node)];
  return ranks;
}

}  // namespace

std::string_view name_of(Algorithm algorithm) {
  for (const Name& name : names) {
    if (name.algorithm == algorithm) return name.text;
  }
  throw Error(ExitCode::internal, "an algorithm without a name");
}

std::optional<Algorithm> algorithm_named(std::string_view text) {
  for (const Name& name : names) {
    if (name.text == text) return name.algorithm;
  }
  return std::nullopt;
}

int Places::nodes() const {
  return node.empty() ? 0 : *std::max_element(node.begin(), node.end()) + 1;
}

int Places::ranks_per_node() const {
  const auto counts = ranks_of_nodes(*this);
  return counts.empty() ? 0 : *std::min_element(counts.begin(), counts.end());
}

Places places_of(std::span<const std::string> hosts) {
  Places places;
  std::map<std::string_view, int> numbers;
  for (const std::string& host : hosts) {
    places.node.push_back(numbers.try_emplace(host, static_cast<int>(numbers.size())).first->second);
  }
  return places;
}

// docs/performance.md has the times. Small data cost messages, not bytes. Between a few ranks with a node
// each the ring and the direct way take the same time, but for four of them in between, where messages of the
// direct way are short; with more ranks it would have every rank talk to every other at once. Within a node
// of a few ranks shared memory gained nothing over messages; between nodes it halves what each link carries,
// and more.
std::vector<Choice> choices(const Places& places, device::DType dtype) {
  constexpr int few = 4;
  constexpr std::size_t kib = 1024;
  const bool shares_nodes = places.ranks() > places.nodes();
  const Choice small{0, Algorithm::doubling, false};
  if (shares_nodes && (places.nodes() > 1 || places.ranks() > few)) {
    return {small, {512 * kib, Algorithm::ring, true}};
  }
  const Choice direct{128 * kib, Algorithm::direct, false};
  if (dtype != device::DType::f32 || places.ranks() < 3) return {small, direct};
  const Choice ring{128 * kib, Algorithm::ring, false};
  if (places.ranks() > few) return {small, ring};
  return {small, ring, {1024 * kib, Algorithm::direct, false}};
}

Choice choose(Algorithm wanted, const Places& places, device::DType dtype, std::size_t bytes) {
  const bool shared = places.ranks() > places.nodes();
  if (wanted != Algorithm::automatic) return {0, wanted, shared && wanted == Algorithm::ring};
  Choice choice{};
  for (const Choice& each : choices(places, dtype)) {
    if (each.bytes <= bytes) choice = each;
  }
  return choice;
}

}  // namespace lockstep::comm
