#include "train/replicas.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

#include "device/cpu/cpu_device.h"
#include "train/learner.h"

using namespace lockstep::train;

namespace {

Config small_mlp(const std::string& optimizer) {
  Config config;
  for (const Key& key : config_keys()) {
    if (key.name != "data.train") key.set(config, key.default_text);
  }
  config.model.hidden = {8};
  config.optim.name = optimizer;
  config.optim.ema_decay = 0.5;
  return config;
}

std::vector<std::string> names(const StateHash& hash) {
  std::vector<std::string> names;
  for (const StateHash::Part& part : hash.parts) names.push_back(part.name);
  return names;
}

}  // namespace

TEST_CASE("equal copies have no divergence", "[train]") {
  CHECK(!find_divergence(std::vector<std::uint64_t>{}));
  CHECK(!find_divergence(std::vector<std::uint64_t>{7}));
  CHECK(!find_divergence(std::vector<std::uint64_t>{7, 7, 7}));
}

TEST_CASE("whoever differs from most is named", "[train]") {
  const auto one = find_divergence(std::vector<std::uint64_t>{7, 7, 9, 7});
  REQUIRE(one);
  CHECK(one->ranks == std::vector<int>{2});
  CHECK(one->sound == 0);
  const auto two = find_divergence(std::vector<std::uint64_t>{1, 7, 2, 7, 7});
  REQUIRE(two);
  CHECK(two->ranks == std::vector<int>{0, 2});
  CHECK(two->sound == 1);
}

TEST_CASE("without a majority nobody is called sound", "[train]") {
  for (const auto& hashes : {std::vector<std::uint64_t>{7, 9}, {7, 7, 9, 9}, {1, 2, 3}}) {
    const auto divergence = find_divergence(hashes);
    REQUIRE(divergence);
    CHECK(divergence->ranks.size() == hashes.size());
    CHECK(!divergence->sound);
  }
}

TEST_CASE("the hash of the state has every tensor by name and knows each bit", "[train]") {
  Learner learner(small_mlp("adamw"), std::make_unique<lockstep::device::CpuDevice>(1), {5}, 3);
  const StateHash before = learner.state_hash();
  CHECK(names(before) == std::vector<std::string>{
                             "ema/fc1.bias", "ema/fc1.weight", "ema/fc2.bias", "ema/fc2.weight",
                             "model/fc1.bias", "model/fc1.weight", "model/fc2.bias", "model/fc2.weight",
                             "optimizer/exp_avg/fc1.bias", "optimizer/exp_avg/fc1.weight",
                             "optimizer/exp_avg/fc2.bias", "optimizer/exp_avg/fc2.weight",
                             "optimizer/exp_avg_sq/fc1.bias", "optimizer/exp_avg_sq/fc1.weight",
                             "optimizer/exp_avg_sq/fc2.bias", "optimizer/exp_avg_sq/fc2.weight", "updates"});
  CHECK(learner.state_hash().whole == before.whole);
  for (std::size_t i = 0; i + 1 < before.parts.size(); ++i) {
    auto snapshot = learner.snapshot();
    const auto unchanged = learner.snapshot();
    for (const auto& view : snapshot.views()) {
      if (view.name == before.parts[i].name) view.data[0] += 1;
    }
    learner.restore(snapshot, 0);
    const StateHash after = learner.state_hash();
    CHECK(after.whole != before.whole);
    for (std::size_t j = 0; j < after.parts.size(); ++j) {
      CHECK((after.parts[j].hash != before.parts[j].hash) == (i == j));
    }
    learner.restore(unchanged, 0);
    CHECK(learner.state_hash().whole == before.whole);
  }
  learner.restore(learner.snapshot(), 1);
  CHECK(learner.state_hash().whole != before.whole);
}

// XXH3_64bits, called from Python, of "a 0000000000000001\nb 0123456789abcdef\n".
TEST_CASE("the hash of a state is the documented one", "[train]") {
  const StateHash hash = whole_of({{"b", 0x0123456789abcdef}, {"a", 1}});
  CHECK(hash.parts[0].name == "a");
  CHECK(hash_text(hash.whole) == "964adcbaf23e3071");
}
