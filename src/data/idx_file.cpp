#include "data/idx_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <numeric>
#include <string_view>

#include "core/files.h"

namespace lockstep::data {

namespace {

constexpr std::uint8_t kUnsignedByte = 0x08;
constexpr std::int64_t kMostItemBytes = std::int64_t{1} << 31;
constexpr unsigned kPiece = 1 << 20;

struct CloseGz {
  void operator()(gzFile file) const { gzclose(file); }
};

std::string_view type_name(std::uint8_t type) {
  switch (type) {
    case 0x09:
      return "signed bytes";
    case 0x0b:
      return "shorts";
    case 0x0c:
      return "ints";
    case 0x0d:
      return "floats";
    case 0x0e:
      return "doubles";
    default:
      return "an unknown type";
  }
}

}  // namespace

struct IdxFile::Stream {
  std::unique_ptr<gzFile_s, CloseGz> gz;
};

IdxFile::IdxFile(std::filesystem::path path) : path_(std::move(path)), stream_(std::make_unique<Stream>()) {
  const FileDescriptor file = open_file(path_, O_RDONLY, 0, ExitCode::missing_input);
  // zlib closes the descriptor that it is given: let it have one of its own.
  const int own = ::fcntl(file.get(), F_DUPFD_CLOEXEC, 0);
  if (own >= 0) stream_->gz.reset(gzdopen(own, "rb"));
  if (!stream_->gz) {
    if (own >= 0) ::close(own);
    throw Error(ExitCode::internal, fmt::format("cannot open {}: {}", path_.string(), std::strerror(errno)));
  }
  gzbuffer(stream_->gz.get(), kPiece);

  std::array<std::uint8_t, 4> magic{};
  read(magic);
  if (magic[0] != 0 || magic[1] != 0 || magic[3] == 0) {
    throw Error(
        ExitCode::bad_data,
        fmt::format("{} is not an IDX file: it begins with {:02x} {:02x} {:02x} {:02x}, wanted 00 00, a type "
                    "and a rank",
                    path_.string(), magic[0], magic[1], magic[2], magic[3]));
  }
  if (magic[2] != kUnsignedByte) {
    throw Error(ExitCode::bad_data, fmt::format("{} has {} (type {:02x}), wanted unsigned bytes (type 08)",
                                                path_.string(), type_name(magic[2]), magic[2]));
  }
  for (int i = 0; i < magic[3]; ++i) {
    std::array<std::uint8_t, 4> word{};
    read(word);
    extent_.push_back((std::int64_t{word[0]} << 24) | (word[1] << 16) | (word[2] << 8) | word[3]);
  }
  std::int64_t bytes = 1;
  for (const std::int64_t dim : item_shape()) {
    bytes = dim > kMostItemBytes / bytes ? 0 : bytes * dim;
    if (bytes == 0) {
      throw Error(ExitCode::bad_data,
                  fmt::format("{} has items with an extent of {}, which is empty or beyond 2 GiB",
                              path_.string(), dim));
    }
  }
}

IdxFile::~IdxFile() = default;

std::int64_t IdxFile::item_bytes() const {
  const auto shape = item_shape();
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::size_t IdxFile::read_some(std::span<std::uint8_t> out) {
  const auto wanted = static_cast<unsigned>(std::min<std::size_t>(out.size(), kPiece));
  errno = 0;
  const int got = gzread(stream_->gz.get(), out.data(), wanted);
  int status = Z_OK;
  const char* reason = gzerror(stream_->gz.get(), &status);
  // A gzip file that is cut off gives what there is, and says so only here.
  if (got < 0 || (status != Z_OK && status != Z_STREAM_END)) {
    // zlib puts its own name for the file in front: "<fd:4>: unexpected end of file".
    std::string_view text = status == Z_ERRNO ? std::strerror(errno) : reason;
    if (const auto colon = text.find(">: "); colon != std::string_view::npos) text.remove_prefix(colon + 3);
    throw Error(ExitCode::bad_data,
                fmt::format("cannot read {}: {}; get the file again", path_.string(), text));
  }
  position_ += got;
  return static_cast<std::size_t>(got);
}

void IdxFile::read(std::span<std::uint8_t> out) {
  while (!out.empty()) {
    const std::size_t got = read_some(out);
    if (got == 0) {
      throw Error(
          ExitCode::bad_data,
          fmt::format("{} ends after {} bytes, {} more are missing{}; get the file again", path_.string(),
                      position_, out.size(), extent_.empty() ? " in its header" : ""));
    }
    out = out.subspan(got);
  }
}

void IdxFile::expect_end() {
  std::array<std::uint8_t, 1> more{};
  const std::int64_t end = position_;
  if (read_some(more) != 0) {
    throw Error(
        ExitCode::bad_data,
        fmt::format("{} goes on after byte {}, where its header says that it ends: {} items of {} bytes; get "
                    "the file again",
                    path_.string(), end, items(), item_bytes()));
  }
}

}  // namespace lockstep::data
