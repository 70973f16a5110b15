// What must be equal on every rank, in one line that ranks can compare: docs/nccl-setup.md.
#pragma once

#include <cstdint>
#include <string>

#include "plan/plan.h"

namespace lockstep::spank {

inline constexpr const char* digest_variable = "LOCKSTEP_NCCL_DIGEST";

// "v1 plugin=HEX config=HEX rendezvous=HEX nccl=HEX driver=HEX". `config_hash` is of the site's file,
// `driver` the NVIDIA driver's version. Left out of `nccl` is what may differ between nodes: names of
// interfaces and files.
std::string digest_of(const Plan& plan, std::uint64_t config_hash, const std::string& driver);

}  // namespace lockstep::spank
