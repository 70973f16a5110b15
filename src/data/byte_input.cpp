#include "data/byte_input.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "core/files.h"

namespace lockstep::data {

namespace {

constexpr unsigned kPiece = 1 << 20;

struct CloseGz {
  void operator()(gzFile file) const { gzclose(file); }
};

// zlib reads plain files too.
class GzipInput : public ByteInput {
 public:
  explicit GzipInput(const std::filesystem::path& path) : ByteInput(path.string()) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) {
      throw Error(ExitCode::missing_input, fmt::format("cannot read {}: it is a folder", name()));
    }
    const FileDescriptor file = open_file(path, O_RDONLY, 0, ExitCode::missing_input);
    // zlib closes the descriptor that it is given: let it have one of its own.
    const int own = ::fcntl(file.get(), F_DUPFD_CLOEXEC, 0);
    if (own >= 0) gz_.reset(gzdopen(own, "rb"));
    if (!gz_) {
      if (own >= 0) ::close(own);
      throw Error(ExitCode::internal, fmt::format("cannot open {}: {}", name(), std::strerror(errno)));
    }
    gzbuffer(gz_.get(), kPiece);
  }

 private:
  std::size_t next(std::span<std::uint8_t> out) override {
    const auto wanted = static_cast<unsigned>(std::min<std::size_t>(out.size(), kPiece));
    errno = 0;
    const int got = gzread(gz_.get(), out.data(), wanted);
    int status = Z_OK;
    const char* reason = gzerror(gz_.get(), &status);
    // A gzip file that is cut off gives what there is, and says so only here.
    if (got < 0 || (status != Z_OK && status != Z_STREAM_END)) {
      // zlib puts its own name for the file in front: "<fd:4>: unexpected end of file".
      std::string_view text = status == Z_ERRNO ? std::strerror(errno) : reason;
      if (const auto colon = text.find(">: "); colon != std::string_view::npos) text.remove_prefix(colon + 3);
      throw Error(ExitCode::bad_data, fmt::format("cannot read {}: {}; get the file again", name(), text));
    }
    return static_cast<std::size_t>(got);
  }

  std::unique_ptr<gzFile_s, CloseGz> gz_;
};

class MemoryInput : public ByteInput {
 public:
  MemoryInput(std::string name, std::span<const std::uint8_t> bytes)
      : ByteInput(std::move(name)), left_(bytes) {}

 private:
  std::size_t next(std::span<std::uint8_t> out) override {
    const std::size_t count = std::min(out.size(), left_.size());
    std::copy_n(left_.begin(), count, out.begin());
    left_ = left_.subspan(count);
    return count;
  }

  std::span<const std::uint8_t> left_;
};

}  // namespace

std::size_t ByteInput::read_some(std::span<std::uint8_t> out) {
  const std::size_t got = next(out);
  position_ += static_cast<std::int64_t>(got);
  return got;
}

void ByteInput::read(std::span<std::uint8_t> out, std::string_view part) {
  while (!out.empty()) {
    const std::size_t got = read_some(out);
    if (got == 0) {
      throw Error(ExitCode::bad_data,
                  fmt::format("{} ends after {} bytes, {} more are missing{}; get the file again", name_,
                              position_, out.size(), part));
    }
    out = out.subspan(got);
  }
}

void ByteInput::expect_end(const std::string& content) {
  std::array<std::uint8_t, 1> more{};
  const std::int64_t end = position_;
  if (read_some(more) != 0) {
    throw Error(ExitCode::bad_data,
                fmt::format("{} goes on after byte {}, where its header says that it ends: {}; get the file "
                            "again",
                            name_, end, content));
  }
}

std::unique_ptr<ByteInput> open_input(const std::filesystem::path& path) {
  return std::make_unique<GzipInput>(path);
}

std::unique_ptr<ByteInput> memory_input(std::string name, std::span<const std::uint8_t> bytes) {
  return std::make_unique<MemoryInput>(std::move(name), bytes);
}

}  // namespace lockstep::data
