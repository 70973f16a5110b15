#include "comm/host_sum.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "comm/direct.h"
#include "comm/doubling.h"
#include "comm/ring.h"
#include "comm/two_levels.h"
#include "core/error.h"

namespace lockstep::comm {

namespace {

std::vector<std::string> hosts_of(const Transport& transport) {
  std::vector<std::string> hosts;
  for (int rank = 0; rank < transport.size(); ++rank) hosts.push_back(transport.host(rank));
  return hosts;
}

std::vector<int> all_ranks(int size) {
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

}  // namespace

HostSum::HostSum(Transport& transport, Algorithm wanted, std::function<void()> no_node_memory)
    : transport_(transport),
      wanted_(wanted),
      no_node_memory_(std::move(no_node_memory)),
      places_(places_of(hosts_of(transport))),
      everybody_{transport, all_ranks(transport.size()), transport.rank()} {}

NodeMemory* HostSum::node_memory(double deadline) {
  if (!node_memory_) {
    std::vector<int> mine;
    for (int rank = 0; rank < transport_.size(); ++rank) {
      if (transport_.host(rank) == transport_.host(transport_.rank())) mine.push_back(rank);
    }
    node_memory_ = NodeMemory::make(transport_, mine, deadline);
    if (!*node_memory_ && no_node_memory_) no_node_memory_();
  }
  return node_memory_->get();
}

Choice HostSum::choice(device::DType dtype, std::size_t bytes) const {
  Choice choice = choose(wanted_, places_, dtype, bytes);
  choice.two_levels = choice.two_levels && (!node_memory_ || *node_memory_);
  const bool needs_f32 = choice.algorithm == Algorithm::ring || choice.algorithm == Algorithm::mpi;
  if (needs_f32 && !choice.two_levels && dtype != device::DType::f32) choice.algorithm = Algorithm::direct;
  return choice;
}

void HostSum::all_reduce(device::DType dtype, std::span<std::byte> data, double deadline) {
  if (choice(dtype, data.size()).two_levels) {
    if (NodeMemory* const memory = node_memory(deadline)) {
      return two_level_all_reduce(transport_, *memory, places_, dtype, data, {}, deadline);
    }
  }
  switch (choice(dtype, data.size()).algorithm) {
    case Algorithm::mpi:
      if (transport_.all_reduce_f32({reinterpret_cast<float*>(data.data()), data.size() / sizeof(float)})) {
        return;
      }
      break;
    case Algorithm::ring:
      return ring_all_reduce(everybody_, data, {}, deadline);
    case Algorithm::doubling:
      return doubling_all_reduce(everybody_, dtype, data, deadline);
    case Algorithm::direct:
    case Algorithm::automatic:
      break;
  }
  direct_all_reduce(everybody_, dtype, data, {}, deadline);
}

void HostSum::reduce_scatter(device::DType dtype, std::span<std::byte> all, std::span<std::byte> mine,
                             double deadline) {
  if (dtype == device::DType::f32 && choice(dtype, all.size()).algorithm == Algorithm::ring) {
    ring_reduce_scatter(everybody_, all, {}, deadline);
  } else {
    direct_reduce_scatter(everybody_, dtype, all, {}, deadline);
  }
  const auto slice = slice_of(all, size_of(dtype), transport_.rank(), transport_.size());
  if (slice.data() != mine.data()) std::copy(slice.begin(), slice.end(), mine.begin());
}

}  // namespace lockstep::comm
