#include "comm/host_sum.h"

#include <cstring>
#include <numeric>
#include <string>
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

HostSum::HostSum(Transport& transport, Algorithm wanted)
    : transport_(transport),
      wanted_(wanted),
      places_(places_of(hosts_of(transport))),
      everybody_{transport, all_ranks(transport.size()), transport.rank()} {}

NodeMemory* HostSum::node_memory(double deadline) {
  if (!node_memory_) {
    std::vector<int> mine;
    for (int rank = 0; rank < transport_.size(); ++rank) {
      if (transport_.host(rank) == transport_.host(transport_.rank())) mine.push_back(rank);
    }
    node_memory_ = NodeMemory::make(transport_, mine, deadline);
  }
  return node_memory_->get();
}

void HostSum::all_reduce(device::DType dtype, std::span<std::byte> data, double deadline) {
  const Choice choice = choose(wanted_, places_, dtype, data.size());
  if (choice.two_levels) {
    if (NodeMemory* const memory = node_memory(deadline)) {
      return two_level_all_reduce(transport_, *memory, places_, dtype, data, {}, deadline);
    }
  }
  const bool is_f32 = dtype == device::DType::f32;
  switch (choice.algorithm) {
    case Algorithm::mpi:
      if (is_f32 &&
          transport_.all_reduce_f32({reinterpret_cast<float*>(data.data()), data.size() / sizeof(float)})) {
        return;
      }
      break;
    case Algorithm::ring:
      if (is_f32) return ring_all_reduce(everybody_, data, {}, deadline);
      break;
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
  direct_reduce_scatter(everybody_, dtype, all, {}, deadline);
  const auto slice = slice_of(all, size_of(dtype), transport_.rank(), transport_.size());
  if (slice.data() != mine.data()) std::memcpy(mine.data(), slice.data(), slice.size());
}

}  // namespace lockstep::comm
