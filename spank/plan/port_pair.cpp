#include "plan/port_pair.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>

#include "core/hash.h"
#include "core/text.h"

namespace lockstep::spank {

namespace {

constexpr int first_unprivileged = 1024;
constexpr int last_port = 65535;
// Ids are the digits of a number: restarts the lowest, then steps, then jobs. As long as two differ by less
// than a digit's base in each place, the numbers differ by less than the modulus, and are not equal. That the
// modulus has no factor in common with the bases keeps apart what differs in one place alone, up to the
// modulus.
constexpr std::uint64_t restart_base = 2;
constexpr std::uint64_t step_base = 16;

// Slurm's ids are numbers; anything else is some number too.
std::uint64_t number_of(const std::string& id) {
  const auto number = parse_int(id);
  return number && *number >= 0 ? static_cast<std::uint64_t>(*number) : hash64(id);
}

// The largest number up to `pairs` that has no factor in common with `base`.
std::uint64_t modulus_of(std::uint64_t pairs, std::uint64_t base) {
  while (std::gcd(pairs, base) != 1) --pairs;
  return pairs;
}

}  // namespace

std::optional<PortPair> port_pair(const Step& step, int range_first, int range_last) {
  const int first = std::max(range_first, first_unprivileged);
  const int last = std::min(range_last, last_port);
  if (last <= first) return std::nullopt;
  const auto pairs = static_cast<std::uint64_t>(last - first + 1) / 2;
  const std::uint64_t modulus = modulus_of(pairs, restart_base * step_base);
  // Reduced before they are multiplied: a product of ids could wrap.
  const std::uint64_t number = (number_of(step.job) % modulus) * step_base * restart_base +
                               (number_of(step.step) % modulus) * restart_base +
                               static_cast<std::uint64_t>(step.restart);
  const int port = first + 2 * static_cast<int>(number % modulus);
  return PortPair{port, port + 1};
}

}  // namespace lockstep::spank
