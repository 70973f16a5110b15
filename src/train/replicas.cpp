#include "train/replicas.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace lockstep::train {

namespace {

constexpr std::size_t most_names = 4;

// "a, b, c and 5 more"
std::string shortened(std::vector<std::string> names) {
  const std::size_t all = names.size();
  if (all <= most_names) return fmt::format("{}", fmt::join(names, ", "));
  names.resize(most_names - 1);
  return fmt::format("{} and {} more", fmt::join(names, ", "), all - names.size());
}

// The tensors in which two ranks differ. Collective.
std::vector<std::string> different_parts(comm::Group& comm, const StateHash& mine, int a, int b) {
  std::vector<std::uint64_t> hashes;
  for (const StateHash::Part& part : mine.parts) hashes.push_back(part.hash);
  std::vector<std::uint64_t> all(hashes.size() * static_cast<std::size_t>(comm.size()));
  comm.all_gather(std::as_bytes(std::span(hashes)), std::as_writable_bytes(std::span(all)));
  std::vector<std::string> names;
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    const auto of = [&](int rank) { return all[static_cast<std::size_t>(rank) * hashes.size() + i]; };
    if (of(a) != of(b)) names.push_back(mine.parts[i].name);
  }
  return names;
}

}  // namespace

std::optional<Divergence> find_divergence(std::span<const std::uint64_t> hashes) {
  std::map<std::uint64_t, std::vector<int>> sets;
  for (std::size_t rank = 0; rank < hashes.size(); ++rank) {
    sets[hashes[rank]].push_back(static_cast<int>(rank));
  }
  if (sets.size() < 2) return std::nullopt;
  const auto smaller = [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); };
  const auto largest = std::max_element(sets.begin(), sets.end(), smaller);
  const auto as_large = std::count_if(
      sets.begin(), sets.end(), [&](const auto& set) { return set.second.size() == largest->second.size(); });
  Divergence divergence;
  if (as_large == 1) divergence.sound = largest->second.front();
  for (std::size_t rank = 0; rank < hashes.size(); ++rank) {
    if (divergence.sound && hashes[rank] == largest->first) continue;
    divergence.ranks.push_back(static_cast<int>(rank));
  }
  return divergence;
}

std::string compare_replicas(comm::Group& comm, const StateHash& mine) {
  const auto hashes = comm::gather_values(comm, mine.whole);
  const auto divergence = find_divergence(hashes);
  if (!divergence) return "";
  std::vector<std::string> ranks;
  for (const int rank : divergence->ranks)
    ranks.push_back(fmt::format("rank {} on {}", rank, comm.host(rank)));
  const int first = divergence->sound.value_or(divergence->ranks.front());
  const auto hash_of_rank = [&](int rank) { return hashes[static_cast<std::size_t>(rank)]; };
  const auto other = std::find_if(divergence->ranks.begin(), divergence->ranks.end(),
                                  [&](int rank) { return hash_of_rank(rank) != hash_of_rank(first); });
  const auto parts = different_parts(comm, mine, first, *other);
  const std::string where =
      fmt::format("{} ({} of {} tensors)", shortened(parts), parts.size(), mine.parts.size());
  if (!divergence->sound) {
    return fmt::format("{} have different bits in {}, and which are right cannot be told", shortened(ranks),
                       where);
  }
  return fmt::format("{} {} other bits than most ranks in {}", shortened(ranks),
                     ranks.size() == 1 ? "has" : "have", where);
}

}  // namespace lockstep::train
