#include "checkpoint/seal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "core/error.h"
#include "core/hash.h"

namespace lockstep::checkpoint {

namespace {

constexpr std::string_view magic = "lockstep checkpoint format ";
constexpr std::size_t tail_bytes = 22;  // "seal ", 16 digits, a newline: the same in every format version

std::string tail(std::string_view head) {
  return fmt::format("seal {:016x}\n", hash64(head));
}

// The word after `label` on its own line of the seal, as a number of the given base.
template <typename T>
T field(std::string_view text, std::string_view label, int base) {
  const auto at = text.find(fmt::format("\n{} ", label));
  T value = 0;
  if (at == std::string_view::npos) return value;
  const char* begin = text.data() + at + label.size() + 2;
  std::from_chars(begin, text.data() + text.size(), value, base);
  return value;
}

}  // namespace

std::string render(const Seal& seal) {
  std::string text = fmt::format(
      "{}{}\n"
      "step {}\n"
      "length {} bytes\n"
      "table {} rows\n"
      "table-offset {} (dataset /meta/slabs)\n"
      "structure {:016x} (XXH3-64 of all bytes outside this seal and the slabs)\n"
      "This is an HDF5 file: h5ls and h5py read it. This text is its user block.\n"
      "`lockstep checkpoint verify FILE` checks every byte.\n",
      magic, format_version, seal.step, seal.file_bytes, seal.table_rows, seal.table_offset,
      seal.structure_hash);
  text.resize(seal_bytes - tail_bytes - 1, ' ');
  text += '\n';
  return text + tail(text);
}

Seal parse_seal(std::string_view bytes) {
  if (bytes.size() != seal_bytes) {
    throw Error(ExitCode::bad_data,
                "the file is shorter than the seal that a complete checkpoint begins with");
  }
  if (std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == 0; })) {
    throw Error(ExitCode::bad_data, "it was never sealed: its writer ended early");
  }
  const std::string_view head = bytes.substr(0, seal_bytes - tail_bytes);
  if (bytes.substr(head.size()) != tail(head)) {
    throw Error(ExitCode::bad_data,
                head.starts_with(magic)
                    ? fmt::format("the seal (first {} bytes) is damaged: its hash should be {:016x}",
                                  seal_bytes, hash64(head))
                    : "it does not begin with a seal: not a Lockstep checkpoint, or damaged");
  }
  std::int64_t version = 0;
  if (head.starts_with(magic)) {
    std::from_chars(head.data() + magic.size(), head.data() + head.size(), version);
  }
  if (version > format_version) {
    throw Error(
        ExitCode::bad_config,
        fmt::format("it has checkpoint format {}, this program reads up to format {}: use the version of "
                    "lockstep that wrote it, or a later one",
                    version, format_version));
  }
  Seal seal;
  seal.step = field<std::int64_t>(head, "step", 10);
  seal.file_bytes = field<std::int64_t>(head, "length", 10);
  seal.table_rows = field<std::int64_t>(head, "table", 10);
  seal.table_offset = field<std::int64_t>(head, "table-offset", 10);
  seal.structure_hash = field<std::uint64_t>(head, "structure", 16);
  if (render(seal) != bytes) throw Error(ExitCode::bad_data, "the seal is not one that lockstep writes");
  return seal;
}

void read_exactly(int fd, std::span<std::byte> into, std::int64_t offset) {
  while (!into.empty()) {
    const ssize_t got = ::pread(fd, into.data(), std::min<std::size_t>(into.size(), 1u << 30), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      // A node that cannot read says nothing about the file.
      throw Error(ExitCode::internal,
                  fmt::format("cannot read at byte {}: {}", offset, std::strerror(errno)));
    }
    if (got == 0) throw Error(ExitCode::bad_data, fmt::format("the file ends at byte {}", offset));
    into = into.subspan(static_cast<std::size_t>(got));
    offset += got;
  }
}

void visit_structure(int fd, std::int64_t file_bytes, std::span<const SlabRecord> slabs,
                     const std::function<void(std::span<const std::byte>, std::int64_t)>& visit) {
  std::vector<SlabRecord> in_file_order(slabs.begin(), slabs.end());
  std::sort(in_file_order.begin(), in_file_order.end(),
            [](const SlabRecord& a, const SlabRecord& b) { return a.offset < b.offset; });
  constexpr std::int64_t piece = std::int64_t{1} << 20;
  std::vector<std::byte> buffer(piece);
  std::int64_t at = seal_bytes;
  const auto visit_until = [&](std::int64_t end) {
    while (at < end) {
      const auto part = std::span(buffer).first(static_cast<std::size_t>(std::min(end - at, piece)));
      read_exactly(fd, part, at);
      visit(part, at);
      at += static_cast<std::int64_t>(part.size());
    }
  };
  for (const SlabRecord& slab : in_file_order) {
    if (slab.offset < at || slab.bytes < 0 || slab.bytes > file_bytes - slab.offset) {
      throw Error(ExitCode::bad_data, fmt::format("the slab table places {} bytes at {}: outside the file or "
                                                  "over another slab",
                                                  slab.bytes, slab.offset));
    }
    visit_until(slab.offset);
    at += slab.bytes;
  }
  visit_until(file_bytes);
}

std::uint64_t structure_hash(int fd, std::int64_t file_bytes, std::span<const SlabRecord> slabs) {
  Hasher hasher;
  visit_structure(fd, file_bytes, slabs,
                  [&](std::span<const std::byte> bytes, std::int64_t) { hasher.update(bytes); });
  return hasher.digest();
}

}  // namespace lockstep::checkpoint
