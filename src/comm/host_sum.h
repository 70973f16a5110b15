// Sums over the ranks of a transport, by the algorithm that fits (choice.h).
#pragma once

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
  HostSum(Transport& transport, Algorithm wanted);

  // The contracts are those of Communicator, on bytes; gives up at `deadline` (monotonic_seconds()) by
  // Transport::TimeOut.
  void all_reduce(device::DType dtype, std::span<std::byte> data, double deadline);
  void reduce_scatter(device::DType dtype, std::span<std::byte> all, std::span<std::byte> mine,
                      double deadline);

 private:
  NodeMemory* node_memory(double deadline);

  Transport& transport_;
  Algorithm wanted_;
  Places places_;
  Team everybody_;
  // Made by the first call that wants it; null then where nodes cannot share memory.
  std::optional<std::unique_ptr<NodeMemory>> node_memory_;
};

}  // namespace lockstep::comm
