// Datasets of numbers in HDF5 files: what they are, and their rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "data/shard.h"
#include "hdf5/handle.h"

namespace lockstep::data {

// Reads type and shape of a dataset that is there. Throws Error(bad_data), naming file and dataset, where it
// holds something else than numbers (`wanted` tells what to store instead) or has no rows. Called with HDF5's
// lock held, as the two that follow.
Column describe_column(const hdf5::File& opened, const std::filesystem::path& file, const std::string& name,
                       std::string_view wanted);

// Adds how it is stored; throws as read_storage() (storage.h).
void locate_column(const hdf5::File& opened, const std::filesystem::path& file, Column& column);

// Opens one that was described, with room for a few chunks. Throws Error(bad_data).
hdf5::Dataset open_column(const hdf5::File& opened, const std::filesystem::path& file, const Column& column);

// Rows [row, row + rows) as numbers of column.type in this machine's byte order. Throws Error(bad_data).
void read_rows(const hdf5::Dataset& dataset, const std::filesystem::path& file, const Column& column,
               std::int64_t row, std::int64_t rows, std::byte* out);

// For error texts: "read rows 0 to 63 of dataset x of train/a.h5".
std::string rows_text(const std::filesystem::path& file, const Column& column, std::int64_t row,
                      std::int64_t rows);

}  // namespace lockstep::data
