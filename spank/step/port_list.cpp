#include "step/port_list.h"

#include <bitset>
#include <string>

#include "core/text.h"

namespace lockstep::spank {

namespace {

constexpr int max_port = 65535;
constexpr std::size_t max_list_bytes = std::size_t{1} << 20;  // all ports, one by one, are a third of it
constexpr int max_named = 1 << 20;                            // ports, repetitions counted: bounds the time

std::optional<int> parse_port(std::string_view text) {
  // parse_int takes a minus sign, which here can only be a range without a beginning.
  if (text.empty() || text.front() == '-') return std::nullopt;
  const auto port = parse_int(text);
  if (!port || *port < 1 || *port > max_port) return std::nullopt;
  return static_cast<int>(*port);
}

}  // namespace

std::optional<std::vector<int>> parse_port_list(std::string_view list) {
  if (list.empty() || list.size() > max_list_bytes) return std::nullopt;
  std::vector<int> ports;
  std::bitset<max_port + 1> seen;
  int named = 0;
  for (const std::string& part : split(list, ',')) {
    const std::string_view range = part;
    const auto dash = range.find('-');
    const auto first = parse_port(range.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_port(range.substr(dash + 1));
    if (!first || !last || *last < *first) return std::nullopt;
    named += *last - *first + 1;
    if (named > max_named) return std::nullopt;
    for (int port = *first; port <= *last; ++port) {
      if (seen.test(static_cast<std::size_t>(port))) continue;
      seen.set(static_cast<std::size_t>(port));
      ports.push_back(port);
    }
  }
  return ports;
}

}  // namespace lockstep::spank
