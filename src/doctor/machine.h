// What the kernel tells about the machine and this process's place on it. All of it is read from files and a
// few system calls; what is not known is left out.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::doctor {

// The cores that this process may use.
std::set<int> own_cores();

// {0, 1, 2, 5} <-> "0-2,5".
std::string to_list(const std::set<int>& numbers);
std::set<int> from_list(std::string_view text);

// Bytes: the smallest limit of the control groups that this process is in; nothing without one.
std::optional<std::int64_t> memory_limit();
// Bytes of the machine, and of these what programs could still get.
struct Memory {
  std::int64_t total = 0;
  std::int64_t available = 0;
};
Memory machine_memory();

// The same for all processes of one machine, and for all of one network of it (network namespaces have
// interfaces of their own).
std::string machine_id();
std::string network_id();

// GPUs, one line each; empty where there are none, or nothing that knows them.
std::vector<std::string> gpus();

// The first line of a small file; empty where it cannot be read.
std::string first_line(const std::string& file);

}  // namespace lockstep::doctor
