#include "train/setup_digest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include "core/text.h"

namespace lockstep::train {

namespace {

constexpr std::size_t told_nodes = 4;

struct Part {
  std::string_view name;  // in the digest
  std::string_view words;
  std::string_view remedy;
};

// The order of the message. A cause comes before what follows from it.
constexpr std::array<Part, 5> known_parts = {{
    {"plugin", "the plugin itself", "install the same version on all nodes"},
    {"config", "the plugin's configuration file", "give all nodes the same file"},
    {"rendezvous", "the rendezvous",
     "let nobody but the plugin set MASTER_ADDR and MASTER_PORT, or all ranks alike"},
    {"nccl", "a setting of NCCL", "compare `nccl-setup explain` on both nodes"},
    {"driver", "the NVIDIA driver", "install the same version on all nodes"},
}};

struct Digest {
  std::string version;
  std::map<std::string, std::string> parts;
};

Digest parse(std::string_view text) {
  Digest digest;
  for (const std::string& word : split(text, ' ')) {
    const auto equals = word.find('=');
    if (equals == std::string::npos) {
      digest.version += word;
    } else {
      digest.parts[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }
  return digest;
}

// Nothing where the digests differ in nothing that has a name here: in the version, or in parts that only
// another version of the plugin knows.
std::vector<Part> different_parts(const Digest& a, const Digest& b) {
  std::vector<Part> parts;
  if (a.version != b.version) return parts;
  const auto value = [](const Digest& digest, std::string_view name) {
    const auto at = digest.parts.find(std::string(name));
    return at == digest.parts.end() ? std::string() : at->second;
  };
  for (const Part& part : known_parts) {
    if (value(a, part.name) != value(b, part.name)) parts.push_back(part);
  }
  return parts;
}

std::string difference(const NcclSetup& own, const NcclSetup& first) {
  if (own.digest.empty() || first.digest.empty()) {
    return fmt::format(
        "the SPANK plugin has set up NCCL on {} and not on {}: start all tasks by srun, with the "
        "plugin installed and switched on everywhere",
        own.digest.empty() ? first.node : own.node, own.digest.empty() ? own.node : first.node);
  }
  auto parts = different_parts(parse(own.digest), parse(first.digest));
  if (parts.empty()) parts.push_back(known_parts.front());
  std::vector<std::string_view> words, names, remedies;
  for (const Part& part : parts) {
    words.push_back(part.words);
    names.push_back(part.name);
    if (std::find(remedies.begin(), remedies.end(), part.remedy) == remedies.end())
      remedies.push_back(part.remedy);
  }
  return fmt::format("{} {} from rank 0's on {} ({}): {}", fmt::join(words, " and "),
                     parts.size() == 1 ? "differs" : "differ", first.node, fmt::join(names, ", "),
                     fmt::join(remedies, "; "));
}

}  // namespace

std::vector<std::string> setup_differences(std::span<const NcclSetup> setups) {
  std::vector<std::string> lines;
  std::set<std::string_view> nodes;
  for (std::size_t rank = 1; rank < setups.size(); ++rank) {
    const NcclSetup& own = setups[rank];
    if (own.digest == setups[0].digest || !nodes.insert(own.node).second) continue;
    if (nodes.size() <= told_nodes) {
      lines.push_back(fmt::format("rank {} on {}: {}", rank, own.node, difference(own, setups[0])));
    }
  }
  if (nodes.size() > told_nodes) {
    const std::size_t others = nodes.size() - told_nodes;
    lines.push_back(fmt::format(
        "and {} from rank 0's {} in how NCCL is set up",
        others == 1 ? "1 more node differs" : fmt::format("{} more nodes differ", others), setups[0].node));
  }
  return lines;
}

}  // namespace lockstep::train
