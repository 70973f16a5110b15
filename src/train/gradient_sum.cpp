#include "train/gradient_sum.h"

#include <utility>

#include "comm/host_communicator.h"
#include "comm/mpi_transport.h"
#include "comm/open_communicator.h"

namespace lockstep::train {

std::unique_ptr<comm::Communicator> gradient_communicator(const comm::MpiGroup& ranks, device::Device& device,
                                                          const Config& config, const Log& log,
                                                          KeepReport keep_report) {
  comm::HostCommunicatorOptions options;
  // The watchdog knows more about a step that hangs: it comes first.
  options.limit_seconds = 2 * config.limits.step + 60;
  // In start-up it knows less: the ranks' names come later.
  options.start_seconds = config.limits.start / 2;
  if (device.kind() != "cpu") {
    options.keep_report = std::move(keep_report);
    return comm::open_device_communicator(ranks, device, options);
  }
  options.algorithm = comm::algorithm_named(config.comm.algorithm).value();
  options.no_node_memory = [&log] {
    log.agreed_warning(
        "the ranks of a node cannot share memory (do containers hide them from each other?): gradients are "
        "summed in one level, more slowly on several nodes, and fast sums have other bits than with it");
  };
  return std::make_unique<comm::HostCommunicator>(comm::make_mpi_transport(ranks), options);
}

device::DType gradient_wire(const Config::Comm& config) {
  return config.dtype == "bf16" ? device::DType::bf16 : device::DType::f32;
}

std::unique_ptr<comm::Reducer> make_reducer(comm::Communicator& comm, const Learner& learner,
                                            const Config& config, Trace* trace) {
  constexpr std::int64_t elements_per_mib =
      (std::int64_t{1} << 20) / static_cast<std::int64_t>(sizeof(float));
  comm::ReducerOptions options;
  options.mode = config.train.reduction == "exact" ? comm::ReduceMode::exact : comm::ReduceMode::fast;
  options.lanes = static_cast<int>(config.virtual_workers());
  options.bucket = config.comm.bucket_mib * elements_per_mib;
  options.wire = gradient_wire(config.comm);
  options.trace = trace;
  static constexpr device::MemoryPurpose reducer_use{"the gradients' reduction",
                                                     "use train.reduction = fast, or a smaller model"};
  const device::MemoryUse use(learner.device(), reducer_use);
  return comm::make_reducer(comm, learner.device(), learner.gradients(), learner.gradient_slices(), options);
}

}  // namespace lockstep::train
