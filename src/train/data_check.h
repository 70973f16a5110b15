// The data are looked at before the first step, not at the step that meets a bad sample.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "comm/group.h"
#include "core/log.h"
#include "data/augment.h"
#include "data/content_check.h"
#include "train/config.h"
#include "train/watchdog.h"

namespace lockstep::train {

// What the configuration asks of data that are fit to train with: the loss fits the targets, the samples can
// be augmented. Throws Error(bad_config) saying which key to change.
void check_fits(const Config& config, const data::Dataset& train);

// The augmentation that the configuration asks for.
data::AugmentOptions augment_options(const Config& config);

// data.check beyond the layout; nothing where the layout is all.
std::optional<data::ContentDepth> content_depth(const Config& config);

// What a check of content works with.
struct DataCheckSetting {
  comm::Group& comm;
  Watchdog& watchdog;
  const Log& log;
  std::filesystem::path folder;         // of the notes of what was checked before
  std::function<void()> fence;          // called before a note is written, by rank 0
  std::function<bool()> deadline_near;  // asked on every rank
};

// Looks at every sample of a split, each rank at its share. Collective. Throws an AgreedError where one is
// bad. `name` is "training" or "test". Every piece starts the clock of limits.start again. When the ranks are
// told to stop, it ends early without a result: the next attempt looks again.
void check_content(const DataCheckSetting& setting, const data::Dataset& dataset, const std::string& name,
                   data::ContentDepth depth);

}  // namespace lockstep::train
