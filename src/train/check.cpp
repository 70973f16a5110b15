#include "train/check.h"

#include <fmt/format.h>

#include "data/dataset.h"
#include "train/identity.h"
#include "train/learner.h"

namespace lockstep::train {

std::string check(const ResolvedConfig& resolved) {
  const Config& config = resolved.config;
  const auto train_data = data::Dataset::open(config.data.train);
  if (!config.data.test.empty()) check_same_kind(train_data, data::Dataset::open(config.data.test));
  const Learner learner(config, 1, train_data.sample_shape(), train_data.classes());
  learner.check_micro_batches(config.train.micro_batch, train_data.size());
  return fmt::format("{} with {} parameters on {}; 1 to {} ranks; run folder {}", config.model.name,
                     learner.parameter_count(), identity_of(train_data), config.virtual_workers(),
                     config.run.dir);
}

}  // namespace lockstep::train
