// Real shards in a temporary folder, for the tests of src/data.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hdf5/handle.h"
#include "temp_folder.h"

namespace lockstep::test {

using TemporaryFolder = ::TempFolder;

struct ShardSpec {
  std::int64_t rows = 0;
  std::int64_t first_id = 0;  // x of a row encodes its global id
  std::vector<std::int64_t> sample_shape = {2, 3};
  hid_t x_type = H5T_STD_U8LE;
  hid_t y_type = H5T_STD_U8LE;
  std::int64_t chunk_rows = 0;  // 0: contiguous
  int gzip = 0;                 // level, only with chunks
  std::map<std::string, double> attributes = {{"lockstep_format", 1}, {"classes", 10}};
  std::map<std::string, std::vector<double>> lists = {};  // attributes with several values
  std::function<std::int64_t(std::int64_t id)> label = [](std::int64_t id) { return id % 10; };
  std::vector<std::int64_t> target_shape = {};  // of a row of y, where y_type is floating
  std::function<double(std::int64_t id, std::int64_t index)> target = [](std::int64_t id,
                                                                         std::int64_t index) {
    return static_cast<double>(id) + 0.25 * static_cast<double>(index);
  };
};

// The stored number of element `index` of a sample: fits a uint8.
std::int64_t stored_value(std::int64_t id, std::int64_t index);

void write_shard(const std::filesystem::path& file, const ShardSpec& spec);

// One shard per entry of `rows`, named 00.h5, 01.h5, ...; ids count on over the shards.
void write_shards(const std::filesystem::path& folder, const std::vector<std::int64_t>& rows,
                  ShardSpec spec = {});

// Runs `change` on a file that is open for writing.
void edit_file(const std::filesystem::path& path, const std::function<void(const hdf5::File&)>& change);

// Overwrites the values of a dataset.
template <typename T>
void overwrite(const std::filesystem::path& path, const std::string& name, hid_t memory_type,
               const std::vector<T>& values) {
  edit_file(path, [&](const hdf5::File& file) {
    const hdf5::Dataset dataset(H5Dopen2(file.get(), name.c_str(), H5P_DEFAULT));
    hdf5::check(H5Dwrite(dataset.get(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
                ExitCode::internal, "overwrite test data");
  });
}

// The text of the Error that `action` throws, after its exit code: "65: text"; "no error" where it throws
// none.
std::string error_of(const std::function<void()>& action);

}  // namespace lockstep::test
