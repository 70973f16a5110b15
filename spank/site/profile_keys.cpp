#include "site/profile_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>

#include "core/text.h"
#include "site/glob.h"
#include "site/in_quotes.h"

namespace lockstep::spank {

namespace {

constexpr std::size_t longest_path = 999;

std::vector<std::string_view> words_of(std::string_view value) {
  std::vector<std::string_view> words;
  while (!(value = trim(value)).empty()) {
    words.push_back(value.substr(0, value.find_first_of(" \t")));
    value.remove_prefix(words.back().size());
  }
  return words;
}

bool consists_of(std::string_view text, std::string_view others) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](unsigned char c) {
    return std::isalnum(c) != 0 || others.find(static_cast<char>(c)) != std::string_view::npos;
  });
}

std::optional<std::int64_t> number_within(std::string_view text, std::int64_t least, std::int64_t most) {
  const auto number = parse_int(text);
  return number && *number >= least && *number <= most ? number : std::nullopt;
}

bool is_path(std::string_view value) {
  return value.starts_with('/') && value.size() <= longest_path && is_printable(value);
}

std::string no_path(std::string_view value) {
  return fmt::format("{} is no absolute path of at most {} printable characters", in_quotes(value),
                     longest_path);
}

std::string commas(std::string_view word) {
  return fmt::format("{} has a comma; separate names by blanks", in_quotes(word));
}

// The patterns of `match` by kind; null: there is no such kind.
std::vector<std::string>* patterns_of(std::string_view kind, Profile& profile) {
  if (kind == "node") return &profile.nodes;
  if (kind == "pci") return &profile.pci;
  return kind == "product" ? &profile.products : nullptr;
}

Mistakes read_match(std::string_view value, Profile& profile) {
  Mistakes mistakes;
  for (const std::string_view word : words_of(value)) {
    const std::size_t colon = word.find(':');
    auto* const patterns = patterns_of(word.substr(0, colon), profile);
    if (patterns == nullptr || colon == std::string_view::npos) {
      mistakes.push_back(fmt::format(
          "{} is none of node:GLOB, pci:VENDOR:DEVICE, product:GLOB; for a blank in a name write ?",
          in_quotes(word)));
      continue;
    }
    std::string pattern(word.substr(colon + 1));
    if (!is_glob(pattern)) {
      mistakes.push_back(fmt::format("{} is no pattern; write text with *, ? and [a-z]", in_quotes(word)));
    } else if (patterns == &profile.pci &&
               (pattern.find(':') == std::string::npos || pattern.find_first_of("xX") != std::string::npos)) {
      mistakes.push_back(fmt::format("{} is no vendor and device; write them as lspci -n does, pci:10de:2330",
                                     in_quotes(word)));
    } else {
      if (patterns == &profile.pci) {
        for (char& c : pattern) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      }
      patterns->push_back(std::move(pattern));
    }
  }
  return mistakes;
}

Mistakes read_interfaces(std::string_view value, Profile& profile) {
  Mistakes mistakes;
  for (const std::string_view word : words_of(value)) {
    const bool excluded = word.front() == '!';
    const std::string_view pattern = word.substr(excluded ? 1 : 0);
    if (word.find(',') != std::string_view::npos) {
      mistakes.push_back(commas(word));
    } else if (!is_glob(pattern) || !consists_of(pattern, "-_.:@*?[]!")) {
      mistakes.push_back(fmt::format("{} is no pattern of interface names; write ib*, or !docker* to exclude",
                                     in_quotes(word)));
    } else {
      (excluded ? profile.excluded_interfaces : profile.interfaces).emplace_back(pattern);
    }
  }
  return mistakes;
}

Mistakes read_min_rate(const std::vector<std::string_view>& words, Profile& profile) {
  const auto rate = words.size() == 2 ? number_within(words[1], 1, 100'000) : std::nullopt;
  if (!rate) return {"min-rate takes one whole number of Gb/s; write hca = min-rate 200"};
  profile.hca_rule = Profile::HcaRule::automatic;
  profile.hca_min_rate_gbps = static_cast<double>(*rate);
  return {};
}

// mlx5_0 or mlx5_0:1
bool is_hca(std::string_view word) {
  const std::size_t colon = word.find(':');
  const bool port_is_good =
      colon == std::string_view::npos || number_within(word.substr(colon + 1), 1, 255).has_value();
  return port_is_good && consists_of(word.substr(0, colon), "-_.");
}

Mistakes read_hca(std::string_view value, Profile& profile) {
  const auto words = words_of(value);
  if (words.front() == "min-rate") return read_min_rate(words, profile);
  if (words.size() == 1 && (value == "auto" || value == "none")) {
    profile.hca_rule = value == "auto" ? Profile::HcaRule::automatic : Profile::HcaRule::none;
    return {};
  }
  profile.hca_rule = Profile::HcaRule::listed;
  Mistakes mistakes;
  for (const std::string_view word : words) {
    if (word == "auto" || word == "none" || word == "min-rate") {
      mistakes.push_back(fmt::format("{} stands alone, not in a list of HCAs", word));
    } else if (word.find(',') != std::string_view::npos) {
      mistakes.push_back(commas(word));
    } else if (!is_hca(word)) {
      mistakes.push_back(fmt::format(
          "{} is no HCA; write its name, or name and port as mlx5_0:1, without = or ^", in_quotes(word)));
    } else if (std::find(profile.hcas.begin(), profile.hcas.end(), word) != profile.hcas.end()) {
      mistakes.push_back(fmt::format("{} is listed twice", word));
    } else {
      profile.hcas.emplace_back(word);
    }
  }
  return mistakes;
}

Mistakes read_gid_index(std::string_view value, Profile& profile) {
  if (value == "leave") {
    profile.gid_rule = Profile::GidRule::leave;
  } else if (value == "auto") {
    profile.gid_rule = Profile::GidRule::automatic;
  } else if (const auto index = number_within(value, 0, 255)) {
    profile.gid_rule = Profile::GidRule::fixed;
    profile.gid_index = static_cast<int>(*index);
  } else {
    return {fmt::format("{} is none of leave, auto, and a number from 0 to 255", in_quotes(value))};
  }
  return {};
}

Mistakes read_topology(std::string_view value, Profile& profile) {
  if (value == "none") {
    profile.topology.clear();
  } else if (value == "generate" || is_path(value)) {
    profile.topology = value;
  } else {
    return {no_path(value) + ", nor none or generate"};
  }
  return {};
}

// The characters after each % of a pattern, in order; '\0' for one at the end.
std::string placeholders_of(std::string_view pattern) {
  std::string found;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '%') found += ++i < pattern.size() ? pattern[i] : '\0';
  }
  return found;
}

Mistakes read_address(std::string_view value, Profile& profile) {
  const std::string placeholders = placeholders_of(value);
  if (!consists_of(value, "-_.:%") || placeholders.empty() ||
      placeholders.find_first_not_of("hs") != std::string::npos) {
    return {
        fmt::format("{} is no pattern of host names; write %h for the node's name, %s for the name up to "
                    "the first dot, as in %hi or %s.example.org",
                    in_quotes(value))};
  }
  profile.address = value;
  return {};
}

Mistakes read_ports(std::string_view value, Profile& profile) {
  const std::size_t dash = value.find('-');
  const auto first = number_within(trim(value.substr(0, dash)), 1024, 65535);
  const auto last = dash == std::string_view::npos ? std::nullopt
                                                   : number_within(trim(value.substr(dash + 1)), 1024, 65535);
  // A narrower range lets the hashes of a busy node's steps meet.
  if (!first || !last || *last - *first + 1 < 1000) {
    return {
        fmt::format("{} is no range of at least 1000 ports within 1024 to 65535; write ports = 20000-31999",
                    in_quotes(value))};
  }
  profile.port_first = static_cast<int>(*first);
  profile.port_last = static_cast<int>(*last);
  return {};
}

Mistakes read_mode(std::string_view value, Profile& profile) {
  profile.mode = parse_mode(value);
  if (!profile.mode) return {fmt::format("{} is none of auto, off, show, warn, strict", in_quotes(value))};
  return {};
}

Mistakes read_torch(std::string_view value, Profile& profile) {
  profile.torch = parse_torch_mode(value);
  if (!profile.torch) return {fmt::format("{} is none of auto, on, off", in_quotes(value))};
  return {};
}

Mistakes read_debug_file(std::string_view value, Profile& profile) {
  if (!is_path(value)) return {no_path(value)};
  const std::string placeholders = placeholders_of(value);
  if (placeholders.find_first_not_of("hpjsr%") != std::string::npos) {
    return {
        fmt::format("{} has a % that stands for nothing; write %h (host), %p (process), %j (job), %s (step), "
                    "%r (rank), or %%",
                    in_quotes(value))};
  }
  // NCCL empties the file that it opens.
  if (placeholders.find_first_of("pr") == std::string::npos) {
    return {
        fmt::format("{} is the same for all ranks, and each would empty it; add %r (rank) or %p (process)",
                    in_quotes(value))};
  }
  profile.debug_file = value;
  return {};
}

constexpr std::array keys = {
    ProfileKey{"match", read_match, true}, ProfileKey{"interfaces", read_interfaces},
    ProfileKey{"hca", read_hca},           ProfileKey{"gid-index", read_gid_index},
    ProfileKey{"topology", read_topology}, ProfileKey{"address", read_address},
    ProfileKey{"ports", read_ports},       ProfileKey{"mode", read_mode},
    ProfileKey{"torch", read_torch},       ProfileKey{"debug-file", read_debug_file},
};

}  // namespace

std::span<const ProfileKey> profile_keys() {
  return keys;
}

const ProfileKey* find_profile_key(std::string_view name) {
  const auto* found =
      std::find_if(keys.begin(), keys.end(), [&](const ProfileKey& key) { return key.name == name; });
  return found == keys.end() ? nullptr : found;
}

}  // namespace lockstep::spank
