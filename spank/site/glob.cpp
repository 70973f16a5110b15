#include "site/glob.h"

#include <cstddef>

namespace lockstep::spank {

namespace {

constexpr auto npos = std::string_view::npos;

// Where the set that begins at pattern[begin] has its closing bracket; a bracket right at the start is a
// member.
std::size_t end_of_set(std::string_view pattern, std::size_t begin) {
  std::size_t first = begin + 1;
  if (first < pattern.size() && pattern[first] == '!') ++first;
  return pattern.find(']', first + 1);
}

bool set_contains(std::string_view set, char c) {
  const bool negated = !set.empty() && set.front() == '!';
  if (negated) set.remove_prefix(1);
  bool found = false;
  for (std::size_t i = 0; i < set.size(); ++i) {
    if (i + 2 < set.size() && set[i + 1] == '-') {
      found = found || (set[i] <= c && c <= set[i + 2]);
      i += 2;
    } else {
      found = found || set[i] == c;
    }
  }
  return found != negated;
}

// The length of the piece of the pattern at `at` if it takes the character c; 0: it does not. No star.
std::size_t piece_taking(std::string_view pattern, std::size_t at, char c) {
  if (at >= pattern.size()) return 0;
  if (pattern[at] == '[') {
    const std::size_t end = end_of_set(pattern, at);
    if (end != npos) return set_contains(pattern.substr(at + 1, end - at - 1), c) ? end - at + 1 : 0;
  }
  return pattern[at] == '?' || pattern[at] == c ? 1 : 0;
}

}  // namespace

bool glob_matches(std::string_view pattern, std::string_view text) {
  std::size_t in_pattern = 0;
  std::size_t in_text = 0;
  // Only the last star need be tried again: what lies before it has matched as early as it could.
  std::size_t after_star = npos;
  std::size_t star_takes_to = 0;
  while (in_text < text.size()) {
    if (in_pattern < pattern.size() && pattern[in_pattern] == '*') {
      after_star = ++in_pattern;
      star_takes_to = in_text;
    } else if (const std::size_t length = piece_taking(pattern, in_pattern, text[in_text]); length > 0) {
      in_pattern += length;
      ++in_text;
    } else if (after_star != npos) {
      in_pattern = after_star;
      in_text = ++star_takes_to;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', in_pattern) == npos;
}

bool is_glob(std::string_view pattern) {
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '[' && (i = end_of_set(pattern, i)) == npos) return false;
  }
  return !pattern.empty();
}

}  // namespace lockstep::spank
