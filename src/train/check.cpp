#include "train/check.h"

#include <fmt/format.h>

#include "data/content_check.h"
#include "data/dataset.h"
#include "device/cpu/cpu_device.h"
#include "train/data_check.h"
#include "train/identity.h"
#include "train/learner.h"

namespace lockstep::train {

namespace {

// What one process can read in a moment: the labels or targets, not the samples.
void check_y(const data::Dataset& dataset) {
  data::ContentCheck content(dataset, data::ContentDepth::y);
  for (std::int64_t next = 0; next < dataset.size();) next = content.check(next, dataset.size());
}

}  // namespace

std::string check(const ResolvedConfig& resolved) {
  const Config& config = resolved.config;
  const auto train_data = data::Dataset::open(config.data.train);
  check_fits(config, train_data);
  const bool look_inside = content_depth(config).has_value();
  if (look_inside) check_y(train_data);
  if (!config.data.test.empty()) {
    const auto test_data = data::Dataset::open(config.data.test);
    check_same_kind(train_data, test_data);
    if (look_inside) check_y(test_data);
  }
  const Learner learner(config, std::make_unique<device::CpuDevice>(1), train_data.sample_shape(),
                        train_data.outputs());
  learner.check_micro_batches(config.train.micro_batch, train_data.size());
  return fmt::format("{} with {} parameters on {}; 1 to {} ranks; run folder {}", config.model.name,
                     learner.parameter_count(), identity_of(train_data), config.virtual_workers(),
                     config.run.dir);
}

}  // namespace lockstep::train
