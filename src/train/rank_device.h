// The device of each rank: all of one kind, and each GPU one rank's.
#pragma once

#include <memory>

#include "comm/group.h"
#include "core/log.h"
#include "device/device.h"
#include "train/config.h"

namespace lockstep::train {

// As config.device says; `threads`: of a CPU. Collective; throws AgreedError where a rank cannot have its
// device, or where some ranks have GPUs and others none. Before all ranks have a GPU, none of them uses one.
std::unique_ptr<device::Device> open_rank_device(comm::Group& ranks, const Config::Train& config, int threads,
                                                 const Log& log);

}  // namespace lockstep::train
