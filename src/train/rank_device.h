// The device of each rank: all of one kind, and each GPU one rank's.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/group.h"
#include "core/log.h"
#include "device/device.h"
#include "device/gpu.h"
#include "train/config.h"

namespace lockstep::train {

// Of what all ranks see, in rank order, and their nodes. Throws AgreedError(bad_config) where some ranks see
// GPUs and others none.
void require_one_kind(std::span<const device::GpuView> views, std::span<const std::string> nodes);

// The place of this rank's GPU among those that it sees. Throws Error(bad_config) where its node has too few.
int choose_gpu(std::span<const device::GpuView> views, std::span<const std::string> nodes, int rank);

// As config.device says; `threads`: of a CPU. Collective; throws AgreedError where a rank cannot have its
// device, or where some ranks have GPUs and others none. Before all ranks have a GPU, none of them uses one.
std::unique_ptr<device::Device> open_rank_device(comm::Group& ranks, const Config::Train& config, int threads,
                                                 const Log& log);

}  // namespace lockstep::train
