// Shell patterns for names: * any text, ? any character, [a-z] one of a set, [!a-z] none of it. Upper and
// lower case differ. No locale and no recursion, as fnmatch(3) has: the time is bounded by the product of the
// lengths.
#pragma once

#include <string_view>

namespace lockstep::spank {

bool glob_matches(std::string_view pattern, std::string_view text);

// Not empty, and every set is closed.
bool is_glob(std::string_view pattern);

}  // namespace lockstep::spank
