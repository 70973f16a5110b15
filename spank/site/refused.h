// Variables that a profile must not set as constants.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lockstep::spank {

// Why, and what to do instead, "is set from the key 'interfaces': write 'interfaces = ...'"; nothing: it may
// be set.
std::optional<std::string> refusal_of(std::string_view variable);

}  // namespace lockstep::spank
