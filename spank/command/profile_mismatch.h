// Why no profile of a site's file suits a node.
#pragma once

#include <string>
#include <vector>

#include "site/profile.h"

namespace lockstep::spank {

// For each profile the first kind of pattern that matches nothing, "h100: no PCI device is 10de:2330"; at
// most five profiles, and how many more there are. None of them matches the node.
std::vector<std::string> mismatches(const SiteConfig& config, const std::string& node,
                                    const Machine& machine);

}  // namespace lockstep::spank
