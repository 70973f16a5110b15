// Bytes that are read once, from start to end: of a file, plain or gzip'd, or of memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace lockstep::data {

class ByteInput {
 public:
  virtual ~ByteInput() = default;
  ByteInput(const ByteInput&) = delete;
  ByteInput& operator=(const ByteInput&) = delete;

  // As error texts call it: a file's path.
  const std::string& name() const { return name_; }
  // Bytes that were read so far, after decompression.
  std::int64_t position() const { return position_; }

  // Some of the bytes that follow, 0 at the end. Throws Error(bad_data) where the file is damaged.
  std::size_t read_some(std::span<std::uint8_t> out);

  // Fills `out`. Throws Error(bad_data), saying how much is missing, where the input ends before; `part` is
  // what is being read, such as " in its header".
  void read(std::span<std::uint8_t> out, std::string_view part = "");

  // Throws Error(bad_data) where anything follows; `content` is what the header promised: "3 items".
  void expect_end(const std::string& content);

 protected:
  explicit ByteInput(std::string name) : name_(std::move(name)) {}

 private:
  virtual std::size_t next(std::span<std::uint8_t> out) = 0;

  std::string name_;
  std::int64_t position_ = 0;
};

// Throws Error(missing_input) where the file cannot be opened.
std::unique_ptr<ByteInput> open_input(const std::filesystem::path& path);

// The bytes must outlive it.
std::unique_ptr<ByteInput> memory_input(std::string name, std::span<const std::uint8_t> bytes);

}  // namespace lockstep::data
