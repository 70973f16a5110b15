#include "topology/topology_path.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "core/error.h"
#include "core/files.h"
#include "core/hash.h"

namespace lockstep::spank {

namespace {

namespace fs = std::filesystem;

constexpr int last_further_name = 7;

bool is_folder(const fs::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// O_NONBLOCK: opening a FIFO or a device must not wait for anybody.
FileDescriptor open_to_read(const fs::path& path, int more) {
  return FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | more));
}

// At most one byte more than a topology file may have; nothing where reading fails, with errno.
std::optional<std::string> read_all(int fd) {
  std::string text;
  char buffer[1 << 14];
  while (text.size() <= max_topology_bytes) {
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    text.append(buffer, static_cast<std::size_t>(got));
  }
  return text;
}

bool is_in_place(const fs::path& path, std::string_view text) {
  const FileDescriptor file = open_to_read(path, O_NOFOLLOW);
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) return false;
  if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid()) return false;
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) return false;
  return read_all(file.get()) == text;
}

// With the owner's number: a name would have to be asked for over the network.
std::string describe_obstacle(const fs::path& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return {};
  return fmt::format("; what is there belongs to user {}", status.st_uid);
}

[[noreturn]] void fail(const fs::path& path, int error) {
  throw Error(ExitCode::cannot_create, fmt::format("cannot write {}: {}{}", path.string(),
                                                   std::strerror(error), describe_obstacle(path)));
}

void write_all(int fd, std::string_view text, const fs::path& path) {
  while (!text.empty()) {
    const ssize_t done = ::write(fd, text.data(), text.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail(path, errno);
    text.remove_prefix(static_cast<std::size_t>(done));
  }
}

// Gone with this object, unless it was renamed by then.
class TemporaryFile {
 public:
  explicit TemporaryFile(const fs::path& beside) : name_(beside.string() + ".XXXXXX") {
    // Creates anew or fails (O_EXCL), follows no link, and gives rights to the user alone.
    file_ = FileDescriptor(::mkostemp(name_.data(), O_CLOEXEC));
    if (!file_) fail(beside, errno);
  }
  ~TemporaryFile() {
    if (!name_.empty()) ::unlink(name_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  int fd() const { return file_.get(); }

  // False where something is in the way, with errno.
  bool rename_to(const fs::path& path) {
    if (::rename(name_.c_str(), path.c_str()) != 0) return false;
    name_.clear();
    return true;
  }

 private:
  std::string name_;
  FileDescriptor file_;
};

TopologyFile unread(std::string reason) {
  return TopologyFile{TopologyFile::Verdict::ignored, std::move(reason), std::nullopt};
}

}  // namespace

TopologyFile read_topology(const fs::path& path) {
  const FileDescriptor file = open_to_read(path, 0);
  if (!file) return unread(std::strerror(errno));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return unread(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return unread("it is no plain file");
  const std::optional<std::string> text = read_all(file.get());
  if (!text) return unread(std::strerror(errno));
  return parse_topology(*text);
}

std::string generated_name(std::string_view text, int further) {
  return fmt::format("lockstep-topology-{}-{:016x}{}.xml", ::geteuid(), hash64(text),
                     further == 0 ? "" : fmt::format("-{}", further));
}

fs::path place_generated(const fs::path& folder, std::string_view text, const fs::path& otherwise) {
  const fs::path& place = is_folder(folder) ? folder : otherwise;
  // Where anybody may write, anybody may have taken the name before.
  for (int further = 0;; ++further) {
    fs::path path = place / generated_name(text, further);
    if (is_in_place(path, text)) return path;
    // Several tasks may do this at once: each writes the same text, and the last rename wins.
    TemporaryFile temporary(path);
    write_all(temporary.fd(), text, path);
    if (temporary.rename_to(path)) return path;
    if (further == last_further_name) fail(path, errno);
  }
}

}  // namespace lockstep::spank
