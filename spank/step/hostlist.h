// Slurm's host lists: "rack[1-2]-n[01-16],login3" and all that `scontrol show hostnames` understands.
#pragma once

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::spank {

// The list cannot be read, or names more hosts than the limit. The text says what and where, in one line.
class HostlistError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// All hosts in order, duplicates kept. Throws HostlistError.
std::vector<std::string> expand_hostlist(std::string_view list, std::size_t limit = 1'000'000);

// The first host alone, without expanding the rest; nothing for an empty list. Throws HostlistError.
std::optional<std::string> first_host(std::string_view list);

}  // namespace lockstep::spank
