// Files that one process reads or writes by itself, through the serial (sec2) driver.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hdf5/handle.h"

namespace lockstep::hdf5 {

// Opens for reading, without taking or needing a file lock: many parallel file systems have none. Throws
// Error(missing_input) where there is no such file and Error(bad_data) where it is not an HDF5 file.
File open_serial(const std::filesystem::path& path);

// Opens for writing a file that only this process knows; throws Error(cannot_create).
File create_serial(const std::filesystem::path& path);
File reopen_serial(const std::filesystem::path& path);

// One number in an attribute of the root group, of whatever numeric type the file has; nothing where the
// attribute does not exist. Throws Error(bad_data), naming file and attribute, where it is not one number.
std::optional<double> read_number(const File& file, const std::filesystem::path& path,
                                  const std::string& name);

// As read_number(), for an attribute that may also be a list of numbers.
std::optional<std::vector<double>> read_numbers(const File& file, const std::filesystem::path& path,
                                                const std::string& name);

}  // namespace lockstep::hdf5
