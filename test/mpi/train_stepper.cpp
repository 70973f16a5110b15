#include "train/stepper.h"

#include <catch2/catch.hpp>

#include "../unit/data_fixture.h"
#include "comm/host_communicator.h"
#include "comm/mpi_group.h"
#include "comm/mpi_transport.h"
#include "device/cpu/cpu_device.h"

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

// Predicts the number `usual` from each of 8 samples; of sample `outlier`, `unusual`.
test::ShardSpec numbers(std::int64_t outlier, double usual, double unusual) {
  test::ShardSpec spec;
  spec.y_type = H5T_IEEE_F32LE;
  spec.attributes = {{"lockstep_format", 1}, {"scale", 0.01}};
  spec.target_shape = {1};
  spec.target = [=](std::int64_t id, std::int64_t) { return id == outlier ? unusual : usual; };
  return spec;
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
  train::Learner learner(config, std::make_unique<device::CpuDevice>(1), dataset.sample_shape(),
                         dataset.outputs());
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

// The sum over the healthy micro-batch's four samples would stand out, too.
TEST_CASE("of a spike those micro-batches are to blame whose mean loss stands out", "[stepper]") {
  constexpr std::int64_t outlier = 5;
  const test::TemporaryFolder folder;
  test::write_shards(folder.path(), {8}, numbers(outlier, 10, 28));
  const data::Dataset dataset = data::Dataset::open(folder.path());
  train::Config config = defaults();
  config.train.global_batch = 8;
  config.train.loss = "mse";
  config.guard.spike_factor = 1.5;
  comm::MpiGroup comm(MPI_COMM_SELF);
  train::Learner learner(config, std::make_unique<device::CpuDevice>(1), dataset.sample_shape(),
                         dataset.outputs());
  comm::HostCommunicator gradients(comm::make_mpi_transport(comm), {});
  comm::ReducerOptions options;
  options.lanes = 2;
  const auto reducer = comm::make_reducer(gradients, learner.device(), learner.gradients(),
                                          learner.gradient_slices(), options);
  const data::Sampler sampler(dataset, {1, 8, 4, 4096});
  data::Loader loader(dataset, sampler, {0, 2}, {0, 0}, 4, 1);
  train::Guard guard(config.guard);
  for (std::int64_t i = 0; i < train::Guard::window; ++i) guard.accept(100);
  train::Stepper stepper(config, learner, loader, sampler, comm, *reducer, guard,
                         train::Clock{[] { return false; }, [] { return false; }}, nullptr);
  const train::StepReport report = stepper.run(0, {});
  CHECK(report.loss == Approx((7 * 100 + 28 * 28) / 8.).epsilon(0.1));
  CHECK_THAT(report.anomaly, Catch::Contains("more than 1.5 x the recent mean of 100"));
  const auto& worst = report.suspects.worst;
  REQUIRE(worst.size() == 4);
  CHECK(worst[0].sample == outlier);
  for (const train::Suspect& suspect : worst) CHECK(suspect.lane == worst[0].lane);
}
