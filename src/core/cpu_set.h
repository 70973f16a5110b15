// Sets of CPUs in the two forms of sysfs.
#pragma once

#include <bitset>
#include <optional>
#include <string_view>

namespace lockstep {

using CpuSet = std::bitset<8192>;  // as many as Linux can be built for

// "0-23,96-119" (cpulist); nothing where the text is no such list. An empty list is an empty set.
std::optional<CpuSet> parse_cpu_list(std::string_view list);

// "00ffffff,00ffffff" (cpumap): groups of 32 CPUs as at most eight hexadecimal digits, the highest first;
// nothing where the text is no such map.
std::optional<CpuSet> parse_cpu_map(std::string_view map);

}  // namespace lockstep
