// Which rank should be whose neighbour: the reducers' rings and trees join ranks of neighbouring numbers.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/group.h"

namespace lockstep::comm {

// Where a rank runs in the cluster's network.
struct Place {
  std::string
      topology;  // the switches (or blocks) above its node from the root on: "root/s0"; empty: unknown
  std::string host;
};

struct RankOrder {
  std::vector<int> ranks;  // the rank that comes first, second, ... A permutation.
  int groups = 0;          // switches or blocks right above the hosts; 0: the topology is not known
  int hosts = 0;

  bool is_given_order() const;
};

// The order in which the ranks of a host follow each other, as do the hosts below a switch, on each level.
// Within a group the given order stays, and the group with the lowest rank comes first: rank 0 stays the
// first, and an order that fits already is kept. Where the place of any rank is unknown, the given order.
RankOrder order_by_topology(std::span<const Place> places);

// The same for the ranks of `comm`, each of which brings the path above its node. Collective.
RankOrder agree_on_order(Group& comm, std::string_view topology);

}  // namespace lockstep::comm
