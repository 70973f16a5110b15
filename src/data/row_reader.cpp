#include "data/row_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/files.h"
#include "data/column.h"
#include "data/convert.h"
#include "hdf5/serial.h"

namespace lockstep::data {

namespace {

constexpr std::int64_t kBytesPerRead = 64 << 20;  // one HDF5 call; bounds how long the lock is held
constexpr std::int64_t kLabelsPerRead = 1 << 16;
constexpr std::size_t kOpenShards = 16;  // each may keep a few chunks in memory

void pread_all(int fd, const Shard& shard, const Column& column, std::int64_t row, std::int64_t rows,
               std::byte* out) {
  std::int64_t left = rows * column.row_bytes();
  std::int64_t offset = *column.file_offset + row * column.row_bytes();
  while (left > 0) {
    const ssize_t got = ::pread(fd, out, static_cast<std::size_t>(left), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      // A short file is the data's fault; an I/O error is the node's, and another node may do better.
      throw Error(got == 0 ? ExitCode::bad_data : ExitCode::internal,
                  fmt::format("cannot {}: {}", rows_text(shard.file, column, row, rows),
                              got == 0 ? "the file ends before them" : std::strerror(errno)));
    }
    out += got;
    offset += got;
    left -= got;
  }
}

std::int64_t bytes_touched(const Column& column, std::int64_t row, std::int64_t rows) {
  if (column.chunk_rows == 0 || column.name == "y") return rows * column.row_bytes();
  const std::int64_t first = row / column.chunk_rows * column.chunk_rows;
  const std::int64_t last = (row + rows + column.chunk_rows - 1) / column.chunk_rows * column.chunk_rows;
  return (std::min(last, column.rows) - first) * column.row_bytes();
}

}  // namespace

// What is open of a shard: only what its columns need.
struct RowReader::OpenShard {
  explicit OpenShard(const Shard& described) : shard(described) {
    if (shard.x.file_offset || shard.y.file_offset) {
      raw = open_file(shard.file, O_RDONLY, 0, ExitCode::missing_input);
    }
    if (!shard.x.file_offset || !shard.y.file_offset) {
      const auto guard = hdf5::lock();
      file = hdf5::open_serial(shard.file);
      if (!shard.x.file_offset) x = open_column(file, shard.file, shard.x);
      if (!shard.y.file_offset) y = open_column(file, shard.file, shard.y);
    }
  }

  const hdf5::Dataset& dataset(const Column& column) const { return column.name == "x" ? x : y; }

  Shard shard;
  FileDescriptor raw;
  hdf5::File file;
  hdf5::Dataset x;
  hdf5::Dataset y;
};

RowReader::RowReader(Dataset dataset) : dataset_(std::move(dataset)) {}
RowReader::~RowReader() = default;
RowReader::RowReader(RowReader&&) noexcept = default;
RowReader& RowReader::operator=(RowReader&&) noexcept = default;

RowReader::OpenShard& RowReader::opened(const Shard& shard) {
  const auto found = std::find_if(open_.begin(), open_.end(),
                                  [&](const auto& open) { return open->shard.first_id == shard.first_id; });
  if (found != open_.end()) {
    open_.splice(open_.begin(), open_, found);
  } else {
    if (open_.size() == kOpenShards) open_.pop_back();
    open_.push_front(std::make_unique<OpenShard>(shard));
  }
  return *open_.front();
}

void RowReader::read_column(OpenShard& open, const Column& column, std::int64_t row, std::int64_t rows,
                            std::byte* out, const std::stop_token& stop) {
  std::int64_t step = std::max<std::int64_t>(1, kBytesPerRead / column.row_bytes());
  if (column.chunk_rows > 0) step = std::max(column.chunk_rows, step / column.chunk_rows * column.chunk_rows);
  while (rows > 0 && !stop.stop_requested()) {
    // Up to the next multiple of `step`, so that no chunk is read twice by two calls.
    const std::int64_t now = std::min(rows, step - row % step);
    if (column.file_offset) {
      pread_all(open.raw.get(), open.shard, column, row, now, out);
    } else {
      read_rows(open.dataset(column), open.shard.file, column, row, now, out);
    }
    bytes_read_ += bytes_touched(column, row, now);
    row += now;
    rows -= now;
    out += now * column.row_bytes();
  }
}

void RowReader::read(std::int64_t first_id, std::int64_t rows, RawRows& out, std::int64_t at,
                     const std::stop_token& stop, Columns columns) {
  while (rows > 0 && !stop.stop_requested()) {
    const Shard& shard = dataset_.shard_of(first_id);
    const std::int64_t row = first_id - shard.first_id;
    const std::int64_t now = std::min(rows, shard.rows() - row);
    OpenShard& open = opened(shard);
    if (columns == Columns::x_and_y) {
      read_column(open, shard.x, row, now, out.x.data() + at * shard.x.row_bytes(), stop);
    }
    raw_y_.resize(static_cast<std::size_t>(now * shard.y.row_bytes()));
    read_column(open, shard.y, row, now, raw_y_.data(), stop);
    if (const std::int64_t width = dataset_.target_width(); width > 0) {
      to_targets(shard.y.type, raw_y_.data(),
                 std::span(out.targets)
                     .subspan(static_cast<std::size_t>(at * width), static_cast<std::size_t>(now * width)));
    } else {
      to_labels(shard.y.type, raw_y_.data(),
                std::span(out.y).subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(now)));
    }
    first_id += now;
    rows -= now;
    at += now;
  }
}

void RowReader::resize(RawRows& out, std::int64_t rows, Columns columns) const {
  const std::int64_t width = dataset_.target_width();
  if (columns == Columns::x_and_y) {
    out.x.resize(static_cast<std::size_t>(rows * dataset_.shards().front().x.row_bytes()));
  }
  out.y.resize(width > 0 ? 0 : static_cast<std::size_t>(rows));
  out.targets.resize(static_cast<std::size_t>(rows * width));
}

void RowReader::for_each_label(const std::function<void(std::int64_t)>& visit) {
  std::vector<std::int64_t> labels;
  for (const Shard& shard : dataset_.shards()) {
    for (std::int64_t row = 0; row < shard.rows(); row += kLabelsPerRead) {
      const std::int64_t now = std::min(kLabelsPerRead, shard.rows() - row);
      raw_y_.resize(static_cast<std::size_t>(now * shard.y.row_bytes()));
      labels.resize(static_cast<std::size_t>(now));
      read_column(opened(shard), shard.y, row, now, raw_y_.data(), {});
      to_labels(shard.y.type, raw_y_.data(), labels);
      std::for_each(labels.begin(), labels.end(), visit);
    }
  }
}

}  // namespace lockstep::data
