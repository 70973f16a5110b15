// The few pieces of JSON that the program writes.
#pragma once

#include <string>
#include <string_view>

namespace lockstep {

// A JSON string with its quotes. Bytes that are not UTF-8 become the replacement character: whatever a path
// or a message holds, the result can be parsed.
std::string json_text(std::string_view text);

// A JSON number that reads back exactly; null for what is not finite.
std::string json_number(double value);

}  // namespace lockstep
