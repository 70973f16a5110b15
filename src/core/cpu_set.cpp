#include "core/cpu_set.h"

#include <charconv>
#include <cstdint>

#include "core/text.h"

namespace lockstep {

std::optional<CpuSet> parse_cpu_list(std::string_view list) {
  CpuSet set;
  for (const std::string& range : split(trim(list), ',')) {
    const std::size_t dash = range.find('-');
    const auto first = parse_int(std::string_view(range).substr(0, dash));
    const auto last = dash == std::string::npos ? first : parse_int(std::string_view(range).substr(dash + 1));
    if (!first || !last || *first < 0 || *first > *last) return std::nullopt;
    if (*last >= static_cast<std::int64_t>(set.size())) return std::nullopt;
    for (std::int64_t cpu = *first; cpu <= *last; ++cpu) set.set(static_cast<std::size_t>(cpu));
  }
  return set;
}

std::optional<CpuSet> parse_cpu_map(std::string_view map) {
  constexpr std::size_t group_bits = 32;
  constexpr std::size_t group_digits = 8;
  CpuSet set;
  const std::vector<std::string> groups = split(trim(map), ',');
  if (groups.empty() || groups.size() > set.size() / group_bits) return std::nullopt;
  for (const std::string& group : groups) {
    std::uint32_t bits = 0;
    const auto [end, error] = std::from_chars(group.data(), group.data() + group.size(), bits, 16);
    if (group.size() > group_digits || error != std::errc{} || end != group.data() + group.size()) {
      return std::nullopt;
    }
    set <<= group_bits;
    set |= CpuSet(bits);
  }
  return set;
}

}  // namespace lockstep
