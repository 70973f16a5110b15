#include "comm/rank_order.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace lockstep::comm {

namespace {

// Names each group that a rank belongs to, from the root down, by the group's lowest rank; the rank itself
// comes last. Groups on one level below one switch share no rank, so their names differ, and comparing two
// such lists compares the outermost groups in which the ranks differ.
using Key = std::vector<int>;

class Keys {
 public:
  // Ranks come in rising order, so the first of a group is its lowest.
  Key next(const Place& place) {
    const int rank = count_++;
    // A host has one place, whatever its other ranks say: its ranks must not be torn apart.
    const std::string& path = paths_.try_emplace(place.host, place.topology).first->second;
    leaves_.insert(path);
    Key key;
    for (std::size_t end = path.find('/'); end != std::string::npos; end = path.find('/', end + 1)) {
      key.push_back(lowest_below_switch_.try_emplace(path.substr(0, end), rank).first->second);
    }
    key.push_back(lowest_below_switch_.try_emplace(path, rank).first->second);
    key.push_back(lowest_on_host_.try_emplace(place.host, rank).first->second);
    key.push_back(rank);
    return key;
  }

  int groups() const { return static_cast<int>(leaves_.size()); }
  int hosts() const { return static_cast<int>(paths_.size()); }

 private:
  int count_ = 0;
  std::map<std::string, std::string> paths_;  // of each host
  std::set<std::string> leaves_;
  std::map<std::string, int> lowest_below_switch_;  // by the path down to the switch
  std::map<std::string, int> lowest_on_host_;
};

}  // namespace

bool RankOrder::is_given_order() const {
  return std::is_sorted(ranks.begin(), ranks.end());
}

RankOrder order_by_topology(std::span<const Place> places) {
  RankOrder order;
  order.ranks.resize(places.size());
  std::iota(order.ranks.begin(), order.ranks.end(), 0);
  const auto unknown = [](const Place& place) { return place.topology.empty(); };
  if (std::any_of(places.begin(), places.end(), unknown)) return order;

  Keys keys;
  std::vector<Key> key_of;
  key_of.reserve(places.size());
  for (const Place& place : places) key_of.push_back(keys.next(place));
  std::sort(order.ranks.begin(), order.ranks.end(), [&](int a, int b) {
    return key_of[static_cast<std::size_t>(a)] < key_of[static_cast<std::size_t>(b)];
  });
  order.groups = keys.groups();
  order.hosts = keys.hosts();
  return order;
}

RankOrder agree_on_order(Group& comm, std::string_view topology) {
  std::vector<Place> places;
  for (std::string& path : gather_texts(comm, topology)) {
    places.push_back({std::move(path), comm.host(static_cast<int>(places.size()))});
  }
  return order_by_topology(places);
}

}  // namespace lockstep::comm
