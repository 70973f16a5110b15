// What keys mean to each other.
#pragma once

#include <string>
#include <vector>

#include "train/config_source.h"

namespace lockstep::train {

// Throws Error(bad_config), naming where the value came from, for schedules that cannot take place.
void check_schedule(const ResolvedConfig& resolved);

// The keys that were given but do nothing beside the others, each with the reason: "optim.momentum
// (optim.name = adamw)". With `alone` also those that do nothing on one rank; not the watch over ranks:
// whoever wants that means any number.
std::vector<std::string> keys_without_effect(const ResolvedConfig& resolved, bool alone = false);

}  // namespace lockstep::train
