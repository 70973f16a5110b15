#pragma once

#include <string>

namespace lockstep::spank {

// An IPv6 address or GID whose second half is made from a MAC address or GUID gets another second half,
// always the same; any other text comes back as it is. GIDs keep their form of eight groups.
std::string without_mac(const std::string& address);

}  // namespace lockstep::spank
