#include "comm/host_sum.h"

#include <cstring>
#include <numeric>
#include <string>
#include <vector>
#include <cstdlib>

#include "comm/direct.h"
#include "comm/doubling.h"
#include "comm/ring.h"
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

RingFlow flow() {
  RingFlow f;
  if (const char* s = std::getenv("RING_SEG")) f.segment = std::strtoul(s, nullptr, 10) << 10;
  if (const char* s = std::getenv("RING_WIN")) f.window = std::atoi(s);
  return f;
}

}  // namespace

HostSum::HostSum(Transport& transport, Algorithm wanted)
    : transport_(transport),
      wanted_(wanted),
      places_(places_of(hosts_of(transport))),
      everybody_{transport, all_ranks(transport.size()), transport.rank()} {}

HostSum::~HostSum() = default;

void HostSum::all_reduce(device::DType dtype, std::span<std::byte> data, double deadline) {
  const Choice choice = choose(wanted_, places_, dtype, data.size());
  switch (choice.algorithm) {
    case Algorithm::ring: return ring_all_reduce(everybody_, data, flow(), deadline);
    case Algorithm::doubling: return doubling_all_reduce(everybody_, dtype, data, deadline);
    case Algorithm::mpi:
      if (transport_.all_reduce_f32({reinterpret_cast<float*>(data.data()), data.size() / 4})) return;
      [[fallthrough]];
    case Algorithm::direct: return direct_all_reduce(everybody_, dtype, data, {}, deadline);
    case Algorithm::automatic: break;
  }
}

void HostSum::reduce_scatter(device::DType dtype, std::span<std::byte> all, std::span<std::byte> mine,
                             double deadline) {
  direct_reduce_scatter(everybody_, dtype, all, {}, deadline);
  const auto slice = slice_of(all, size_of(dtype), transport_.rank(), transport_.size());
  if (slice.data() != mine.data()) std::memcpy(mine.data(), slice.data(), slice.size());
}

}  // namespace lockstep::comm
