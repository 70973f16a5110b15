// What one step of the configured model costs: computation per rank, bytes of gradients, bytes of a
// checkpoint.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "core/text.h"
#include "data/dataset.h"
#include "doctor/compute_device.h"
#include "doctor/probes.h"
#include "train/data_check.h"
#include "train/gradient_sum.h"
#include "train/learner.h"

namespace lockstep::doctor {

namespace {

constexpr double long_enough = 0.5;  // seconds
constexpr int most_rounds = 1024;

// Made-up samples of the right shape: the time of a micro-batch does not depend on what is in it.
data::Batch made_up_batch(const data::Dataset& dataset, std::int64_t size) {
  data::Batch batch;
  batch.size = size;
  batch.x.resize(static_cast<std::size_t>(size * dataset.sample_elements()));
  for (std::size_t i = 0; i < batch.x.size(); ++i) batch.x[i] = static_cast<float>(i % 17) / 8.F - 1.F;
  for (std::int64_t i = 0; i < size; ++i) {
    batch.ids.push_back(i);
    if (dataset.classes() > 0) batch.y.push_back(static_cast<std::int32_t>(i % dataset.classes()));
  }
  if (dataset.classes() == 0) batch.targets.resize(static_cast<std::size_t>(size * dataset.target_width()));
  return batch;
}

Facts measure_model(const train::Config& config, const ComputeDevice& on, const data::Dataset& dataset) {
  train::Learner learner(config, on.open(), dataset.sample_shape(), dataset.outputs());
  const data::Batch batch = made_up_batch(dataset, std::min(config.train.micro_batch, dataset.size()));
  const auto pass = [&] { learner.train(batch, 0, false); };
  pass();  // generates the code
  const double seconds = seconds_of(learner.device(), pass, long_enough, most_rounds);
  const std::size_t sent = size_of(train::gradient_wire(config.comm));
  return {
      {"parameters", fmt::format("{}", learner.parameter_count())},
      {"gradient_bytes", fmt::format("{}", learner.gradients().count() * static_cast<std::int64_t>(sent))},
      {"state_bytes", fmt::format("{}", learner.snapshot().bytes())},
      {"micro_batch_seconds", fmt::format("{:.6g}", seconds)}};
}

std::vector<Stage> stages() {
  const auto dataset = std::make_shared<std::optional<data::Dataset>>();
  const auto open = [dataset](Context& context, Facts& mine) {
    if (context.resolved == nullptr) return;
    const train::Config& config = context.resolved->config;
    const std::int64_t workers = config.virtual_workers();
    mine["model"] = config.model.name;
    mine["ranks"] = fmt::format("{}", context.size());
    mine["micro_batches"] = fmt::format("{}", workers);
    mine["own_micro_batches"] = fmt::format("{}", (workers + context.size() - 1) / context.size());
    mine["micro_batch"] = fmt::format("{}", config.train.micro_batch);
    context.patience.run(fmt::format("open {}", config.data.train), [dataset, folder = config.data.train] {
      *dataset = data::Dataset::open(folder);
      return Facts{};
    });
    train::check_fits(config, **dataset);
  };
  const auto measure = [dataset](Context& context, Facts& mine) {
    if (context.resolved == nullptr || !context.device) return;
    mine.merge(context.patience.run("forward and backward pass",
                                    [dataset, config = context.resolved->config, on = *context.device] {
                                      return measure_model(config, on, **dataset);
                                    }));
  };
  return {{open}, {measure}};
}

void report(const Findings&, Section& section) {
  const Facts& first = section.ranks.front().facts;
  if (text_of(first, "model").empty()) {
    section.rows.push_back(
        {"model", "no configuration was given: lockstep doctor CONFIG tells what a step needs"});
    return;
  }
  const double workers = number_of(first, "micro_batches").value_or(0);
  const auto size = static_cast<double>(section.ranks.size());
  if (workers < size) {
    section.fail(ExitCode::bad_config,
                 fmt::format("{:.0f} ranks, but a step has only {:.0f} micro-batches (train.global_batch / "
                             "train.micro_batch): some ranks would have nothing to do",
                             size, workers));
  }
  const Spread seconds = spread(section.ranks, "micro_batch_seconds", Better::lower);
  if (seconds.count == 0) return;
  section.rows.push_back({"model", fmt::format("{} with {} parameters: {} of gradients, checkpoints of {}",
                                               text_of(first, "model"), text_of(first, "parameters"),
                                               human_bytes(number_of(first, "gradient_bytes").value_or(0)),
                                               human_bytes(number_of(first, "state_bytes").value_or(0)))});
  section.rows.push_back(
      {"micro-batch",
       fmt::format("{} samples in {:.3g} s; {} per rank and step: {:.3g} s of computation",
                   text_of(first, "micro_batch"), seconds.typical, text_of(first, "own_micro_batches"),
                   seconds.worst * number_of(first, "own_micro_batches").value_or(1))});
  if (stands_out(seconds, Better::lower)) {
    section.warnings.push_back(fmt::format("{} takes {:.2g} s for a micro-batch, the others {:.2g} s",
                                           name_of(*seconds.worst_rank), seconds.worst, seconds.typical));
  }
}

}  // namespace

Probe model_probe() {
  return {"model", "time, gradients and checkpoint size of the configured model", stages, report, true};
}

}  // namespace lockstep::doctor
