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
  std::function<std::int64_t(std::int64_t id)> label = [](std::int64_t id) { return id % 10; };
};

// The stored number of element `index` of a sample: fits a uint8.
std::int64_t stored_value(std::int64_t id, std::int64_t index);

void write_shard(const std::filesystem::path& file, const ShardSpec& spec);

// One shard per entry of `rows`, named 00.h5, 01.h5, ...; ids count on over the shards.
void write_shards(const std::filesystem::path& folder, const std::vector<std::int64_t>& rows,
                  ShardSpec spec = {});

// The text of the Error that `action` throws, after its exit code: "65: text"; "no error" where it throws
// none.
std::string error_of(const std::function<void()>& action);

}  // namespace lockstep::test
