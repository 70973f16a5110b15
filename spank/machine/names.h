// Names of devices as the kernel makes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::spank {

// Numbers within names compare by value: ib2 comes before ib10.
bool natural_less(std::string_view left, std::string_view right);

// "0000:17:00.0"; the domain may have up to eight digits.
bool is_bus_id(std::string_view text);

// The bus ids among a path's parts, from the root down.
std::vector<std::string> bus_ids_in(std::string_view path);

}  // namespace lockstep::spank
