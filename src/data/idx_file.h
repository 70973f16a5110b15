// IDX files, the format of the MNIST family: a magic number that says type and rank, the extents, the bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

namespace lockstep::data {

// An IDX file of unsigned bytes, plain or gzip'd, read from start to end.
class IdxFile {
 public:
  // Reads the header. Throws Error(missing_input) or Error(bad_data) naming the file, what was seen and
  // wanted.
  explicit IdxFile(std::filesystem::path path);
  ~IdxFile();

  const std::filesystem::path& path() const { return path_; }
  std::int64_t items() const { return extent_.front(); }
  std::span<const std::int64_t> item_shape() const { return std::span(extent_).subspan(1); }
  std::int64_t item_bytes() const;

  // Fills `out` with the bytes that follow; throws Error(bad_data) where the file ends before or is damaged.
  void read(std::span<std::uint8_t> out);

  // Throws Error(bad_data) where anything follows the last item, or the end is damaged.
  void expect_end();

 private:
  struct Stream;
  std::size_t read_some(std::span<std::uint8_t> out);

  std::filesystem::path path_;
  std::unique_ptr<Stream> stream_;
  std::vector<std::int64_t> extent_;
  std::int64_t position_ = 0;  // bytes read, header included
};

}  // namespace lockstep::data
