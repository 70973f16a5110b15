// CIFAR-10 in its binary form: records of one label byte and 3072 bytes of an image, channel, height, width.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "core/error.h"
#include "data/byte_input.h"
#include "data/shard_import.h"

namespace lockstep::data {

namespace {

constexpr std::int64_t kChannels = 3;
constexpr std::int64_t kImageBytes = kChannels * 32 * 32;
constexpr std::int64_t kRecordBytes = kImageBytes + 1;
constexpr std::int64_t kClasses = 10;
constexpr std::int64_t kRecordsPerPiece = 1000;

std::int64_t records_of(const std::filesystem::path& file) {
  std::error_code error;
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(file, error));
  if (error) {
    throw Error(ExitCode::missing_input, fmt::format("cannot open {}: {}", file.string(), error.message()));
  }
  if (bytes == 0 || bytes % kRecordBytes != 0) {
    throw Error(
        ExitCode::bad_data,
        fmt::format("{} has {} bytes, wanted a multiple of {} (a label and an image of 3x32x32): is it "
                    "of the binary version, unpacked?",
                    file.string(), bytes, kRecordBytes));
  }
  return bytes / kRecordBytes;
}

void append(const std::filesystem::path& file, std::int64_t records, ShardImport& shards) {
  const auto input = open_input(file);
  std::array<std::uint8_t, kRecordBytes> record{};
  std::vector<std::uint8_t> images;
  std::vector<std::int64_t> labels;
  for (std::int64_t row = 0; row < records; row += kRecordsPerPiece) {
    images.clear();
    labels.clear();
    for (std::int64_t i = std::min(kRecordsPerPiece, records - row); i > 0; --i) {
      input->read(record);
      labels.push_back(record[0]);
      images.insert(images.end(), record.begin() + 1, record.end());
    }
    shards.append({std::as_bytes(std::span(images)), labels, {}, input->name(), input->name(), row});
  }
}

Imported run(const ImportArguments& arguments, const ImportTarget& target) {
  const std::vector<std::string> files = arguments.all("file");
  std::vector<std::int64_t> records;
  std::int64_t all = 0;
  for (const std::string& file : files) all += records.emplace_back(records_of(file));
  ImportTarget ten = target;
  if (!ten.classes) ten.classes = kClasses;
  ShardImport shards(ten, all, {{kChannels, 32, 32}, ElementType::u8, ElementType::u8, 0}, kChannels);
  for (std::size_t i = 0; i < files.size(); ++i) append(files[i], records[i], shards);
  return shards.finish();
}

constexpr std::array<ImportOption, 1> kOptions = {{
    {"file", "FILE", "data_batch_1.bin and so on; one or more", ImportOption::Kind::repeated},
}};

}  // namespace

extern const Importer cifar_importer;
constexpr Importer cifar_importer = {
    "cifar",
    "CIFAR-10, the binary version",
    "--file FILE...",
    "Turns the binary version of CIFAR-10 into HDF5 shards; the files' images follow each other.",
    kOptions,
    run,
};

}  // namespace lockstep::data
