// Is there a dataset of this name, and if not, what is there?
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "hdf5/handle.h"

namespace lockstep::data {

// `name` is a path in the file, "images" or "group/images". Throws Error(bad_data) naming file and name,
// where it is a group, a type, or a link whose target is missing, saying which; where there is nothing of
// that name, with `hint` after it, or else with what is there. Called with HDF5's lock held.
void require_dataset(const hdf5::File& opened, const std::filesystem::path& file, const std::string& name,
                     std::string_view hint = "");

}  // namespace lockstep::data
