#include "import_fixture.h"

#include <zlib.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "data/column.h"
#include "data/convert.h"
#include "data/dataset.h"
#include "hdf5/serial.h"

namespace lockstep::test {

namespace fs = std::filesystem;

void write_bytes(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

void write_gzip(const fs::path& path, const std::string& bytes) {
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
}

std::int64_t files_below(const fs::path& folder) {
  std::int64_t count = 0;
  if (!fs::exists(folder)) return 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) count += entry.is_regular_file();
  return count;
}

data::Imported import(const std::string& format, const Options& options, const data::ImportTarget& target) {
  const data::Importer* importer = data::find_importer(format);
  REQUIRE(importer != nullptr);
  return importer->run(data::ImportArguments(options), target);
}

std::string import_error(const std::string& format, const Options& options,
                         const data::ImportTarget& target) {
  const std::string text = error_of([&] { import(format, options, target); });
  CHECK_FALSE(fs::exists(target.out));
  CHECK(files_below(target.out.parent_path()) == 0);
  return text;
}

namespace {

void append_numbers(const hdf5::File& file, const fs::path& path, const data::Column& column,
                    std::vector<double>& out) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(column.rows * column.row_bytes()));
  data::read_rows(data::open_column(file, path, column), path, column, 0, column.rows, bytes.data());
  for (std::int64_t i = 0; i < column.rows * column.row_elements; ++i) {
    out.push_back(data::number_at(column.type, bytes.data(), i));
  }
}

}  // namespace

Stored stored_in(const fs::path& split) {
  const auto guard = hdf5::lock();
  Stored stored;
  const data::Dataset dataset = data::Dataset::open(split);
  for (const data::Shard& shard : dataset.shards()) {
    const hdf5::File file = hdf5::open_serial(shard.file);
    append_numbers(file, shard.file, shard.x, stored.x);
    append_numbers(file, shard.file, shard.y, stored.y);
  }
  return stored;
}

}  // namespace lockstep::test
