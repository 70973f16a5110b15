// What a file is made of, laid out by one process through HDF5's serial driver: datasets without values,
// attributes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "hdf5/handle.h"

namespace lockstep::hdf5 {

// All functions throw Error(cannot_create). Creating truncates and takes no file lock, as many shared file
// systems have none; `userblock` bytes (0, or a power of two from 512) stay free at the front.
File create_structure(const std::filesystem::path& path, hsize_t userblock);

// A contiguous dataset whose space is allocated at once and never filled; groups on the way are created. An
// empty shape is a scalar.
Dataset create_dataset(const File& file, const std::string& name, hid_t type, std::span<const hsize_t> shape);

// Where the dataset's bytes begin, from the file's start (user block included); 0 if it has no elements.
std::int64_t dataset_offset(const Dataset& dataset, const std::string& name);

// Attributes of a file's root or of a group. Text must be shorter than 64 KiB.
void write_attribute(hid_t object, const std::string& name, std::int64_t value);
void write_attribute(hid_t object, const std::string& name, double value);
void write_attribute(hid_t object, const std::string& name, const std::string& value);
// One value as a scalar, several as a list; at least one.
void write_attribute(hid_t object, const std::string& name, std::span<const double> values);

// A fixed-length UTF-8 string type, padded by NUL, of at least one byte.
Datatype text_type(std::size_t length);

}  // namespace lockstep::hdf5
