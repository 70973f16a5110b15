#include "train/config_setters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <stdexcept>

#include "core/text.h"

namespace lockstep::train {

std::int64_t parse_whole_number(const std::string& text, std::int64_t least, std::int64_t most) {
  const auto value = parse_int(text);
  if (value && *value >= least && *value <= most) return *value;
  throw std::invalid_argument(most == unbounded
                                  ? fmt::format("a whole number of at least {} is wanted", least)
                                  : fmt::format("a whole number from {} to {} is wanted", least, most));
}

double parse_real_number(const std::string& text, double least, double most) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (!text.empty() && *end == '\0' && std::isfinite(value) && value >= least && value <= most) return value;
  throw std::invalid_argument(std::isinf(most)
                                  ? fmt::format("a number of at least {} is wanted", least)
                                  : fmt::format("a number from {} to {} is wanted", least, most));
}

double parse_power_of_two(const std::string& text, double least, double most) {
  int exponent = 0;
  const double value = parse_real_number(text, least, most);
  if (std::frexp(value, &exponent) == 0.5) return value;
  throw std::invalid_argument(fmt::format("a power of two from {} to {} is wanted", least, most));
}

bool parse_flag(const std::string& text) {
  if (text == "on") return true;
  if (text == "off") return false;
  throw std::invalid_argument("on or off is wanted");
}

std::vector<std::int64_t> parse_sizes(const std::string& text) {
  constexpr std::int64_t most = 1 << 24;
  std::vector<std::int64_t> numbers;
  for (const std::string& part : split(text, ',')) {
    numbers.push_back(parse_whole_number(std::string(trim(part)), 1, most));
  }
  return numbers;
}

const std::string& require_path(const std::string& text) {
  if (text.empty()) throw std::invalid_argument("a folder is wanted: there is no default");
  return text;
}

const std::string& require_command(const std::string& text) {
  // Run folders keep the configuration as an INI file, and `lockstep requeue` reads the command there.
  if (text.find_first_of("#\n") != std::string::npos) {
    throw std::invalid_argument(
        "a command without # and line breaks is wanted, as # begins a comment in a configuration: put it "
        "into a "
        "script");
  }
  return text;
}

const std::string& require_choice(const std::string& text, const std::vector<std::string>& choices) {
  if (std::find(choices.begin(), choices.end(), text) != choices.end()) return text;
  throw std::invalid_argument(fmt::format("one of {} is wanted", fmt::join(choices, ", ")));
}

}  // namespace lockstep::train
