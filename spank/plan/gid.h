// GID indices for NCCL versions before 2.21, which do not find the right one by themselves.
#pragma once

#include <optional>
#include <vector>

#include "plan/concern.h"
#include "plan/hca_choice.h"

namespace lockstep::spank {

// The port's first RoCE v2 GID that stands for an IPv4 address; nothing where there is none.
std::optional<int> ipv4_gid_index(const HcaPort& port);

// NCCL_IB_GID_INDEX as the profile wants it, for the ports that NCCL uses.
void set_gid_index(const Facts& facts, Settings& settings, const std::vector<PortRef>& ports);

}  // namespace lockstep::spank
