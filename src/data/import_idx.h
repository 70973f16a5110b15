// Turns a pair of IDX files, images and labels, into the shards of one split.
#pragma once

#include <filesystem>

#include "data/importer.h"

namespace lockstep::data {

// Images of rank 2 (height, width) get a channel in front: x is [n, 1, height, width]. Both files may be
// gzip'd. Throws Error and leaves nothing behind where a file is missing, damaged, or does not fit the other.
Imported import_idx(const std::filesystem::path& image_file, const std::filesystem::path& label_file,
                    const ImportTarget& target);

}  // namespace lockstep::data
