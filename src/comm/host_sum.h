// Sums over the ranks of a transport, by the algorithm that fits (choice.h).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "comm/choice.h"
#include "comm/node_memory.h"
#include "comm/team.h"
#include "device/tensor.h"

namespace lockstep::comm {

class HostSum {
 public:
  // `no_node_memory`, which may be empty, is called once, from within a sum that wanted two levels, where
  // nodes cannot share memory.
  HostSum(Transport& transport, Algorithm wanted, std::function<void()> no_node_memory = {});

  // What a sum of `bytes` is made by, as far as is known: whether nodes share memory shows when the first sum
  // wants it. Never automatic.
  Choice choice(device::DType dtype, std::size_t bytes) const;

  // The contracts are those of Communicator, on bytes; what is not there at `deadline` (monotonic_seconds())
  // ends it by the error of Transport::wait().
  void all_reduce(device::DType dtype, std::span<std::byte> data, double deadline);
  void reduce_scatter(device::DType dtype, std::span<std::byte> all, std::span<std::byte> mine,
                      double deadline);

 private:
  NodeMemory* node_memory(double deadline);

  Transport& transport_;
  Algorithm wanted_;
  std::function<void()> no_node_memory_;
  Places places_;
  Team everybody_;
  // Made by the first call that wants it; null then where nodes cannot share memory.
  std::optional<std::unique_ptr<NodeMemory>> node_memory_;
};

}  // namespace lockstep::comm
