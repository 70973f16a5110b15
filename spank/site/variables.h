// What NCCL makes of the values of its variables: it reads "abc" as 0 and "8MB" as 8 without a word.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace lockstep::spank {

// Why NCCL would not take `value` for `variable` as it is written, in words, with what it takes; nothing: it
// would, or the variable's type is not known.
std::optional<std::string> fault_of_value(std::string_view variable, std::string_view value);

// The variables with a known type, by name.
std::span<const std::string_view> typed_variables();

// True where NCCL takes the value for a switch that is on: any number but 0.
bool is_on(std::string_view value);

}  // namespace lockstep::spank
