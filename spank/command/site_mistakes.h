// All mistakes of a site's file. The plugin needs the first alone; whoever mends the file wants to see the
// rest.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::spank {

// One for each wrong line, "FILE:LINE: what is wrong; what to do", at most 20 lines.
std::vector<std::string> mistakes_in_site_config(std::string_view text, const std::string& file);

}  // namespace lockstep::spank
