// What sums a run's gradients over its ranks, as the configuration wants it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "comm/communicator.h"
#include "comm/mpi_group.h"
#include "comm/reducer.h"
#include "core/log.h"
#include "core/trace.h"
#include "device/device.h"
#include "train/config.h"
#include "train/learner.h"

namespace lockstep::train {

// See HostCommunicatorOptions.
using KeepReport = std::function<std::string(const std::string& report)>;

// Collective. The log hears, from any thread, when sums are not made as the places of the ranks promise; it
// must outlive the communicator.
std::unique_ptr<comm::Communicator> gradient_communicator(const comm::MpiGroup& ranks, device::Device& device,
                                                          const Config& config, const Log& log,
                                                          KeepReport keep_report);

// What gradients are on their way between ranks.
device::DType gradient_wire(const Config::Comm& config);

// All must outlive it; `trace` may be null. Throws Error(bad_config) for more ranks than lanes.
std::unique_ptr<comm::Reducer> make_reducer(comm::Communicator& comm, const Learner& learner,
                                            const Config& config, Trace* trace);

}  // namespace lockstep::train
