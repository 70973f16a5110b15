// The device of each rank: all of one kind, and each of its own.
#pragma once

#include <memory>
#include <string>

#include "comm/group.h"
#include "core/log.h"
#include "device/device.h"

namespace lockstep::train {

// `kind`: auto, cpu or cuda. Collective; throws AgreedError(bad_config) where a rank cannot have its device, or
// where some ranks have GPUs and others none.
std::unique_ptr<device::Device> open_rank_device(comm::Group& ranks, const std::string& kind, int threads,
                                                 const Log& log);

}  // namespace lockstep::train
