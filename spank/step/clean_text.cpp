#include "step/clean_text.h"

#include <algorithm>

namespace lockstep::spank {

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return is_printable(c); });
}

std::string clean_text(std::string_view text, std::size_t most) {
  constexpr std::string_view cut = "...";
  const bool too_long = text.size() > most;
  std::string clean(too_long ? text.substr(0, most - std::min(most, cut.size())) : text);
  std::transform(clean.begin(), clean.end(), clean.begin(), clean_char);
  return too_long ? clean.append(cut) : clean;
}

}  // namespace lockstep::spank
