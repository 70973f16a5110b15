// What was found good once is not read again by the next attempt: a small file for each split in the run
// folder says which files were looked at, and how closely.
#pragma once

#include <filesystem>
#include <string>

#include "data/content_check.h"

namespace lockstep::train {

// The files of a dataset as they are now: the fingerprint, then size, time of the last change and path of
// each shard. Throws Error(missing_input) where a shard has gone.
std::string files_text(const data::Dataset& dataset);

// Whether `note` says that these very files were checked at least as closely. A note that is missing or torn
// says no.
bool already_checked(const std::filesystem::path& note, const std::string& files, data::ContentDepth depth);

// Written atomically; throws Error(cannot_create).
void remember_checked(const std::filesystem::path& note, const std::string& files, data::ContentDepth depth);

}  // namespace lockstep::train
