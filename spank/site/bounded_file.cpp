#include "site/bounded_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/files.h"

namespace lockstep::spank {

namespace {

void refuse(BoundedFile& file, Obstacle obstacle, std::string problem) {
  file.obstacle = obstacle;
  file.problem = std::move(problem);
  file.text.clear();
}

bool is_null_device(const struct stat& status) {
  return S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3);
}

void refuse_kind(BoundedFile& file, mode_t mode) {
  if (S_ISDIR(mode)) return refuse(file, Obstacle::unreadable, "is a folder");
  refuse(file, Obstacle::stream, S_ISFIFO(mode) ? "is a pipe" : "is no plain file");
}

}  // namespace

BoundedFile read_bounded(const std::filesystem::path& path, std::size_t limit) {
  BoundedFile file;
  // Without O_NONBLOCK, opening a pipe waits for somebody to write to it.
  const FileDescriptor descriptor(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!descriptor) {
    file.missing = errno == ENOENT || errno == ENOTDIR;
    if (!file.missing) {
      refuse(file, Obstacle::unreadable, fmt::format("cannot be opened: {}", std::strerror(errno)));
    }
    return file;
  }
  struct stat status {};
  if (::fstat(descriptor.get(), &status) != 0) {
    refuse(file, Obstacle::unreadable, fmt::format("cannot be examined: {}", std::strerror(errno)));
    return file;
  }
  file.owner = status.st_uid;
  file.mode = status.st_mode & 07777U;
  if (is_null_device(status)) return file;
  if (!S_ISREG(status.st_mode)) {
    refuse_kind(file, status.st_mode);
    return file;
  }
  char buffer[1 << 14];
  for (;;) {
    const ssize_t got = ::read(descriptor.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      refuse(file, Obstacle::unreadable, fmt::format("cannot be read: {}", std::strerror(errno)));
    }
    if (got <= 0) return file;
    file.text.append(buffer, static_cast<std::size_t>(got));
    // Counted while reading: it may grow, and files of /proc have no size.
    if (file.text.size() > limit) {
      refuse(file, Obstacle::too_large, fmt::format("is larger than {} bytes", limit));
      return file;
    }
  }
}

}  // namespace lockstep::spank
