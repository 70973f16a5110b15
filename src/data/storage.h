// How a dataset of a shard is stored, and whether all of it is there: HDF5 reads what is missing as zeros
// without an error in several ways, and each of them is refused here.
#pragma once

#include <filesystem>

#include "data/shard.h"
#include "hdf5/handle.h"

namespace lockstep::data {

// Fills layout, chunk_rows, filters and file_offset of `column`, whose name, shape, rows and type are known.
// Throws Error(bad_data), naming file and dataset, where a filter is not available here, where it is a
// virtual dataset, where an external file is missing or too short, and where chunks were never written.
// Called with HDF5's lock held.
void read_storage(hid_t dataset, const hdf5::File& opened, const std::filesystem::path& file, Column& column);

// Names a dataset in error texts: "dataset x of train/a.h5".
std::string place(const std::filesystem::path& file, const std::string& dataset);

}  // namespace lockstep::data
