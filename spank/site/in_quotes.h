// Text from files and environments in messages: one line, of bounded length, harmless to a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "step/clean_text.h"

namespace lockstep::spank {

// 'text', every byte that is no printable ASCII as \xHH, and no more than `limit` bytes of it.
std::string in_quotes(std::string_view text, std::size_t limit = 60);

}  // namespace lockstep::spank
