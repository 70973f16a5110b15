#include "comm/segments.h"

#include <algorithm>
#include <deque>
#include <map>
#include <vector>

#include "comm/ring.h"

namespace lockstep::comm {

namespace {

template <typename Bytes>
std::vector<Bytes> cut(Bytes data) {
  std::vector<Bytes> segments{data.first(std::min(data.size(), RingFlow{}.segment))};
  for (data = data.subspan(segments.back().size()); !data.empty();
       data = data.subspan(segments.back().size())) {
    segments.push_back(data.first(std::min(data.size(), RingFlow{}.segment)));
  }
  return segments;
}

}  // namespace

void exchange_in_segments(Transport& transport, std::span<const Outgoing> sends,
                          std::span<const Incoming> receives, int tag, double deadline) {
  std::vector<Transport::Ticket> coming;
  for (const Incoming& message : receives) {
    for (const auto segment : cut(message.data)) {
      coming.push_back(transport.receive(message.peer, tag, segment));
    }
  }
  // By peer, in the order in which the peers come in the list: all get their first segments early.
  std::vector<int> peers;
  std::map<int, std::deque<std::span<const std::byte>>> left;
  for (const Outgoing& message : sends) {
    auto& segments = left[message.peer];
    if (segments.empty()) peers.push_back(message.peer);
    for (const auto segment : cut(message.data)) segments.push_back(segment);
  }
  std::deque<Transport::Ticket> going;
  const std::size_t window =
      static_cast<std::size_t>(RingFlow{}.window) * std::max<std::size_t>(1, peers.size());
  while (!left.empty()) {
    for (const int peer : peers) {
      const auto at = left.find(peer);
      if (at == left.end()) continue;
      if (going.size() >= window) {
        transport.wait(going.front(), deadline);
        going.pop_front();
      }
      going.push_back(transport.send(peer, tag, at->second.front()));
      at->second.pop_front();
      if (at->second.empty()) left.erase(at);
    }
  }
  for (const auto ticket : coming) transport.wait(ticket, deadline);
  for (const auto ticket : going) transport.wait(ticket, deadline);
}

}  // namespace lockstep::comm
