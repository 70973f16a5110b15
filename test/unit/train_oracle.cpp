// Some steps of training, against those that PyTorch made from the same weights and samples
// (test/fixtures/oracle/make.py).
#include <fmt/format.h>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <numeric>

#include "comm/host_communicator.h"
#include "comm/reducer.h"
#include "data/batch.h"
#include "device/cpu/cpu_device.h"
#include "optim/gradient_norm.h"
#include "optim/schedule.h"
#include "oracle_file.h"
#include "ranks.h"
#include "train/config.h"
#include "train/learner.h"

using lockstep::data::Batch;
using lockstep::test::OracleFile;
using lockstep::train::Config;
using lockstep::train::config_keys;
using lockstep::train::Key;
using lockstep::train::Learner;

namespace {

// Both sides compute in f32, in different orders.
constexpr double loss_tolerance = 1e-5;  // of the loss
// Of a parameter's elements, to the parameter's largest one.
constexpr double parameter_tolerance = 1e-5;
// In a 16-bit type another order of additions changes how numbers are rounded now and then: so much, where
// f32 itself is some times as far away.
struct MixedTolerance {
  double loss, parameter;
};

struct Samples {
  std::vector<std::int64_t> sample_shape;
  std::vector<float> x;
  std::vector<std::int32_t> y;
  std::vector<float> targets;  // of a case with numbers as targets, else empty
  std::int64_t count = 0;

  Samples(const OracleFile& file, bool numbers) : sample_shape(file.shape("x")), x(file.floats("x")) {
    count = sample_shape.front();
    sample_shape.erase(sample_shape.begin());
    if (numbers) {
      targets = file.floats("targets");
    } else {
      y = file.integers("y");
    }
  }

  // Samples first, first + 1, ..., from the front again after the last one.
  Batch batch(std::int64_t first, std::int64_t size) const {
    Batch batch;
    batch.size = size;
    const auto append = [&](auto& to, const auto& from, std::int64_t id) {
      const auto width = static_cast<std::ptrdiff_t>(from.size()) / count;
      to.insert(to.end(), from.begin() + id * width, from.begin() + (id + 1) * width);
    };
    for (std::int64_t i = first; i < first + size; ++i) {
      const std::int64_t id = i % count;
      append(batch.x, x, id);
      append(batch.y, y, id);
      append(batch.targets, targets, id);
      batch.ids.push_back(id);
    }
    return batch;
  }

  std::int64_t outputs() const {
    return targets.empty() ? *std::max_element(y.begin(), y.end()) + 1
                           : static_cast<std::int64_t>(targets.size()) / count;
  }
};

// The configuration's keys are the fixture's attributes: those of the model on the file, the others on the
// case.
Config config_of(const OracleFile& file, const std::string& group) {
  Config config;
  const auto set = [&](const Key& key, const std::string& value) {
    INFO(key.name << " = " << value);
    REQUIRE_NOTHROW(key.set(config, value));
  };
  for (const Key& key : config_keys()) {
    if (key.name == "data.train") continue;
    const std::string section = key.name.substr(0, key.name.find('.'));
    const std::string name = key.name.substr(section.size() + 1);
    const std::string object = section == "model" ? "/" : group;
    const std::string attribute = key.name == "model.name" ? "model" : name;
    const bool recorded = section == "model" || section == "optim" || section == "train";
    set(key, (recorded ? file.text(object, attribute) : std::nullopt).value_or(key.default_text));
  }
  config.optim.schedule = "cosine";
  return config;
}

using Tensors = std::map<std::string, std::vector<float>>;

Tensors tensors_of(const Learner& learner) {
  Tensors tensors;
  auto snapshot = learner.snapshot();
  for (const auto& view : snapshot.views()) {
    const auto count = lockstep::checkpoint::element_count(view.shape);
    tensors[view.name].assign(view.data, view.data + count);
  }
  return tensors;
}

// The recorded weights, and an average that starts as they do.
void start_from(const OracleFile& file, Learner& learner) {
  auto snapshot = learner.snapshot();
  std::size_t found = 0;
  for (const auto& view : snapshot.views()) {
    const std::size_t slash = view.name.find('/');
    const std::string section = view.name.substr(0, slash);
    const std::string dataset = "initial" + view.name.substr(slash);
    if (section != "model" && section != "ema") continue;
    if (view.name.find(".running_") != std::string::npos) continue;
    INFO(view.name);
    const auto scale = static_cast<float>(file.number(dataset, "scale"));
    const std::vector<float> values = file.floats(dataset);
    REQUIRE(file.shape(dataset) == view.shape);
    std::transform(values.begin(), values.end(), view.data, [=](float value) { return value * scale; });
    found += section == "model" ? 1 : 0;
  }
  CHECK(found == file.members("initial").size());
  learner.restore(snapshot, 0);
}

void compare(const OracleFile& file, const std::string& recorded, const Tensors& tensors,
             const std::string& section, double tolerance = parameter_tolerance) {
  for (const std::string& name : file.members(recorded)) {
    const std::string dataset = recorded + "/" + name;
    const std::vector<float> wanted = file.floats(dataset);
    const auto stride = static_cast<std::size_t>(file.number(dataset, "stride"));
    const std::vector<float>& ours = tensors.at(section + "/" + name);
    float largest = 0.f;
    double apart = 0.;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      REQUIRE(i * stride < ours.size());
      largest = std::max(largest, std::abs(wanted[i]));
      apart = std::max(apart, std::abs(static_cast<double>(ours[i * stride]) - wanted[i]));
    }
    INFO(dataset << ": at most " << apart << " apart, the largest element is " << largest);
    CHECK(apart <= tolerance * largest);
  }
}

// Trains as the case was trained, each step's batch in so many micro-batches.
void repeat(const std::string& model, const std::string& title, std::int64_t micro_batches = 1) {
  INFO(model << ", " << title << ", " << micro_batches << " micro-batches");
  const OracleFile file(model);
  const std::string group = "cases/" + title;
  const Config config = config_of(file, group);
  const Samples samples(file, config.train.loss == "mse");
  Learner learner(config, std::make_unique<lockstep::device::CpuDevice>(1), samples.sample_shape,
                  samples.outputs());
  start_from(file, learner);

  const auto steps = static_cast<std::int64_t>(file.number("/", "steps"));
  const auto batch = static_cast<std::int64_t>(file.number("/", "batch"));
  const std::vector<double> losses = file.doubles(group + "/losses");
  const std::vector<double> rates = file.doubles(group + "/learning_rates");
  const lockstep::optim::ScheduleOptions schedule{lockstep::optim::schedule_kind(config.optim.schedule),
                                                  config.optim.lr, config.optim.warmup_steps, 0,
                                                  config.optim.min_lr};
  const std::int64_t micro_batch = batch / micro_batches;
  for (std::int64_t step = 0; step < steps; ++step) {
    double loss = 0.;
    lockstep::train::Trained trained;
    for (std::int64_t i = 0; i < micro_batches; ++i) {
      trained = learner.train(samples.batch(step * batch + i * micro_batch, micro_batch), step, i > 0);
      loss += learner.read_loss(trained).loss;
    }
    INFO("step " << step);
    const auto at = static_cast<std::size_t>(step);
    const double mean = 1. / static_cast<double>(batch);
    CHECK(loss * mean == Approx(losses[at]).epsilon(loss_tolerance));
    const double rate = lockstep::optim::learning_rate(schedule, step, steps);
    CHECK(rate == Approx(rates[at]).epsilon(1e-12));
    const double norm = learner.gradient_norm(mean);
    learner.update(rate, mean * lockstep::optim::clip_coefficient(norm, config.optim.clip_norm));
    if (learner.statistic_count() == 0) continue;
    // One micro-batch: more of them would have other statistics than PyTorch's whole batch.
    std::vector<float> statistics(static_cast<std::size_t>(learner.statistic_count()));
    learner.read_statistics(trained, statistics);
    learner.absorb_statistics(statistics);
  }
  CHECK(learner.updates() == steps);
  const Tensors tensors = tensors_of(learner);
  compare(file, group + "/final", tensors, "model");
  if (config.optim.ema_decay > 0) compare(file, group + "/average", tensors, "ema");
  const double evaluated =
      learner.evaluate(samples.batch(0, samples.count)).loss / static_cast<double>(samples.count);
  CHECK(evaluated == Approx(file.number(group, "evaluation")).epsilon(loss_tolerance));
  // Evaluation has left the weights where they were.
  CHECK(tensors_of(learner) == tensors);
}

}  // namespace

TEST_CASE("networks train in bf16 and fp16 as PyTorch's arithmetic says", "[oracle]") {
  const OracleFile recorded("mixed");  // make_mixed.py
  struct Case {
    const char *model, *precision;
    MixedTolerance tolerance;
  };
  // Through twenty normalised layers each difference reaches all numbers: the losses alone tell much there.
  const Case c = GENERATE(Case{"mlp", "bf16", {1e-4, 1e-3}}, Case{"mlp", "fp16", {1e-4, 1e-3}},
                          Case{"cnn", "bf16", {1e-4, 1e-3}}, Case{"cnn", "fp16", {1e-4, 1e-3}},
                          Case{"resnet20", "bf16", {8e-3, 0.5}}, Case{"resnet20", "fp16", {1.5e-3, 0.1}});
  INFO(c.model << " in " << c.precision);
  const OracleFile file(c.model);
  const std::string group = fmt::format("{}/{}", c.model, c.precision);
  Config config = config_of(file, "cases/sgd");
  config.train.precision = c.precision;
  const Samples samples(file, false);
  Learner learner(config, std::make_unique<lockstep::device::CpuDevice>(1), samples.sample_shape,
                  samples.outputs());
  start_from(file, learner);
  const auto steps = static_cast<std::int64_t>(file.number("/", "steps"));
  const auto batch = static_cast<std::int64_t>(file.number("/", "batch"));
  const std::vector<double> losses = recorded.doubles(group + "/losses");
  const std::vector<double> rates = file.doubles("cases/sgd/learning_rates");
  const double mean = 1. / static_cast<double>(batch);
  for (std::int64_t step = 0; step < steps; ++step) {
    const auto trained = learner.train(samples.batch(step * batch, batch), step, false);
    const auto at = static_cast<std::size_t>(step);
    INFO("step " << step);
    CHECK(learner.read_loss(trained).loss * mean == Approx(losses[at]).epsilon(c.tolerance.loss));
    learner.update(rates[at], mean);
    if (learner.statistic_count() == 0) continue;
    std::vector<float> statistics(static_cast<std::size_t>(learner.statistic_count()));
    learner.read_statistics(trained, statistics);
    learner.absorb_statistics(statistics);
  }
  compare(recorded, group + "/final", tensors_of(learner), "model", c.tolerance.parameter);
  const double evaluated =
      learner.evaluate(samples.batch(0, samples.count)).loss / static_cast<double>(samples.count);
  CHECK(evaluated == Approx(recorded.number(group, "evaluation")).epsilon(c.tolerance.loss));
}

TEST_CASE("the mlp trains as in PyTorch", "[oracle]") {
  for (const char* title : {"sgd", "adamw", "clipped", "label_smoothing", "average", "mse"}) {
    repeat("mlp", title);
  }
  repeat("mlp", "sgd", 3);
  repeat("mlp", "adamw", 2);
}

TEST_CASE("two ranks in fast mode train as two of PyTorch's DistributedDataParallel", "[oracle]") {
  const OracleFile file("mlp");
  const OracleFile recorded("mlp_ddp");  // make_ddp.py
  const std::string group = "cases/sgd";
  const Config config = config_of(file, group);
  const Samples samples(file, false);
  constexpr int ranks = 2;
  const auto steps = static_cast<std::int64_t>(recorded.number("/", "steps"));
  const auto batch = static_cast<std::int64_t>(file.number("/", "batch"));
  const std::vector<double> rates = file.doubles(group + "/learning_rates");
  const std::vector<std::uint8_t> present(ranks, 1);
  const double mean = 1. / static_cast<double>(batch);
  // HDF5 is not for several threads at once.
  std::vector<std::unique_ptr<Learner>> learners;
  for (int rank = 0; rank < ranks; ++rank) {
    learners.push_back(std::make_unique<Learner>(config, std::make_unique<lockstep::device::CpuDevice>(1),
                                                 samples.sample_shape, samples.outputs()));
    start_from(file, *learners.back());
  }
  for (const bool overlap : {false, true}) {
    std::vector<std::vector<double>> losses(ranks);
    std::vector<Learner::Snapshot> starts;
    for (const auto& learner : learners) starts.push_back(learner->snapshot());
    std::vector<Tensors> finals(ranks);
    as_ranks(ranks, {}, [&](std::unique_ptr<lockstep::comm::Transport> transport) {
      const int rank = transport->rank();
      const auto at = static_cast<std::size_t>(rank);
      Learner& learner = *learners[at];
      lockstep::comm::HostCommunicator comm(std::move(transport), {});
      lockstep::comm::ReducerOptions options;
      options.lanes = ranks;
      options.bucket = 500;
      const auto reducer = lockstep::comm::make_reducer(comm, learner.device(), learner.gradients(),
                                                        learner.gradient_slices(), options);
      for (std::int64_t step = 0; step < steps; ++step) {
        reducer->begin_step(present, overlap);
        const auto place = reducer->begin_lane(rank);
        learner.use_gradients(place.gradient);
        const Batch mine = samples.batch(step * batch + rank * batch / ranks, batch / ranks);
        const auto trained = learner.train(mine, step, place.accumulate, [&](std::size_t parameter) {
          reducer->finish_parameter(parameter);
        });
        losses[at].push_back(learner.read_loss(trained).loss);
        reducer->end_lane();
        learner.use_gradients(reducer->finish());
        learner.update(rates[static_cast<std::size_t>(step)], mean);
      }
      finals[at] = tensors_of(learner);
    });
    const std::vector<double> wanted = recorded.doubles("losses");
    for (std::size_t step = 0; step < wanted.size(); ++step) {
      INFO("step " << step << " overlap " << overlap);
      CHECK((losses[0][step] + losses[1][step]) * mean == Approx(wanted[step]).epsilon(loss_tolerance));
    }
    CHECK(finals[0] == finals[1]);
    compare(recorded, "final", finals[0], "model");
    for (std::size_t rank = 0; rank < starts.size(); ++rank) learners[rank]->restore(starts[rank], 0);
  }
}

TEST_CASE("the cnn trains as in PyTorch", "[oracle]") {
  for (const char* title : {"sgd", "adamw"}) repeat("cnn", title);
}

TEST_CASE("the resnet20 trains as in PyTorch", "[oracle]") {
  for (const char* title : {"sgd", "adamw"}) repeat("resnet20", title);
}
