// Tensors with known values for checkpoint tests.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/state.h"
#include "core/philox.h"

struct Tensors {
  std::vector<lockstep::checkpoint::TensorInfo> infos;
  std::vector<std::vector<float>> values;

  std::vector<lockstep::checkpoint::TensorView> views() {
    std::vector<lockstep::checkpoint::TensorView> result;
    for (std::size_t i = 0; i < infos.size(); ++i) {
      result.push_back({infos[i].name, infos[i].shape, values[i].data()});
    }
    return result;
  }
};

// Large and small, a scalar, fewer rows than ranks, no elements.
inline Tensors test_tensors(std::uint64_t seed) {
  Tensors tensors;
  tensors.infos = {{"model/conv1.weight", {8, 1, 3, 3}},
                   {"model/conv1.bias", {8}},
                   {"model/large", {101, 37}},
                   {"model/one_row", {1, 5}},
                   {"model/scalar", {}},
                   {"model/empty", {0, 4}},
                   {"model/empty_rows", {4, 0}},
                   {"optimizer/momentum/model.large", {101, 37}}};
  for (std::size_t i = 0; i < tensors.infos.size(); ++i) {
    lockstep::PhiloxStream stream(seed, lockstep::Purpose::init, i);
    const auto count = static_cast<std::size_t>(lockstep::checkpoint::element_count(tensors.infos[i].shape));
    auto& values = tensors.values.emplace_back(count);
    for (float& value : values) value = lockstep::to_unit_float(stream.next()) - 0.5f;
  }
  return tensors;
}

inline lockstep::checkpoint::State test_state(std::int64_t step) {
  lockstep::checkpoint::State state;
  state.step = step;
  state.samples = step * 64;
  state.epoch = 2;
  state.values["seed"] = std::int64_t{42};
  state.values["loss_scale"] = 0.1;
  state.values["model"] = std::string("cnn");
  state.values["empty"] = std::string();
  state.values["config"] = std::string(5000, 'c') + "\nlr = 0.1\n";
  return state;
}
