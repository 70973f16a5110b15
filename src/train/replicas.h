// Every rank has a copy of the parameters and of all that goes with them, and all copies must have the same
// bits. One that differs, by a fault of memory or arithmetic on its node, spoils the gradients of all without
// a sign: nothing else in a run would notice.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/group.h"
#include "train/state_hash.h"

namespace lockstep::train {

struct Divergence {
  std::vector<int> ranks;    // that differ from most; all of them where there is no such majority
  std::optional<int> sound;  // one of the majority
};

// Who differs, by the hash of each rank; nothing where all are equal. The majority is the largest set of
// equal ranks: two at least, and no other as large.
std::optional<Divergence> find_divergence(std::span<const std::uint64_t> hashes);

// Compares the ranks' hashes. Collective; the same text on every rank: who differs, with node, and in what;
// empty where nobody does.
std::string compare_replicas(comm::Group& comm, const StateHash& mine);

}  // namespace lockstep::train
