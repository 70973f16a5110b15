// UTF-8: whether a text is that, and what of it can be shown.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lockstep {

// The length of the UTF-8 sequence that `text`, which is not empty, begins with; 0 where it is none
// (surrogates, overlong forms and what lies beyond U+10FFFF included).
std::size_t utf8_length(std::string_view text);

bool is_utf8(std::string_view text);

// For error texts, which are one line of UTF-8 whatever a file holds: other bytes become the replacement
// character, control characters blanks, and what is longer than about 60 bytes is cut between two characters.
std::string shown(std::string_view text);

}  // namespace lockstep
