#include "train/stepper.h"

#include <catch2/catch.hpp>

#include "device/cpu/cpu_device.h"
#include "../unit/data_fixture.h"
#include "comm/host_communicator.h"
#include "comm/mpi_group.h"
#include "comm/mpi_transport.h"

using namespace lockstep;

namespace {

train::Config defaults() {
  train::Config config;
  for (const train::Key& key : train::config_keys()) {
    if (key.name != "data.train") key.set(config, key.default_text);
  }
  config.train.global_batch = 4;
  config.train.micro_batch = 4;
  return config;
}

}  // namespace

// A limit that is extended between two looks at the clock: the batches of a step that was given up are gone,
// so the run must not go on.
TEST_CASE("a step that was given up at the deadline is a vote to stop, whatever the clock says then",
          "[stepper]") {
  const test::TemporaryFolder folder;
  test::write_shards(folder.path(), {16});
  const data::Dataset dataset = data::Dataset::open(folder.path());
  const train::Config config = defaults();
  comm::MpiGroup comm(MPI_COMM_SELF);
  train::Learner learner(config, std::make_unique<device::CpuDevice>(1), dataset.sample_shape(), dataset.outputs());
  comm::HostCommunicator gradients(comm::make_mpi_transport(comm), {});
  const auto reducer = comm::make_reducer(gradients, learner.device(), learner.gradients(),
                                          learner.gradient_slices(), comm::ReducerOptions{});
  const data::Sampler sampler(dataset, {1, 4, 4, 4096});
  data::Loader exhausted(dataset, sampler, {0, 1}, {0, 0}, 4, 0);
  const train::Guard guard(config.guard);
  int asked = 0;
  train::Stepper stepper(config, learner, exhausted, sampler, comm, *reducer, guard,
                         train::Clock{[&] { return ++asked == 1; }, [] { return false; }}, nullptr);
  const train::StepReport report = stepper.run(0, {});
  CHECK(report.abandoned);
  CHECK(train::describe(report.votes, 1) == "the time limit is near");
}
