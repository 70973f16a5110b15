#include "site/bounded_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/files.h"

namespace lockstep::spank {

namespace {

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "is a folder";
  if (S_ISFIFO(mode)) return "is a pipe";
  return "is no plain file";
}

}  // namespace

BoundedFile read_bounded(const std::filesystem::path& path, std::size_t limit) {
  BoundedFile file;
  // Without O_NONBLOCK, opening a pipe waits for somebody to write to it.
  const FileDescriptor descriptor(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!descriptor) {
    file.missing = errno == ENOENT || errno == ENOTDIR;
    if (!file.missing) file.problem = fmt::format("cannot be opened: {}", std::strerror(errno));
    return file;
  }
  struct stat status {};
  if (::fstat(descriptor.get(), &status) != 0) {
    file.problem = fmt::format("cannot be examined: {}", std::strerror(errno));
    return file;
  }
  file.owner = status.st_uid;
  file.mode = status.st_mode & 07777U;
  if (!S_ISREG(status.st_mode)) {
    file.problem = kind_of(status.st_mode);
    return file;
  }
  char buffer[1 << 14];
  for (;;) {
    const ssize_t got = ::read(descriptor.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) file.problem = fmt::format("cannot be read: {}", std::strerror(errno));
    if (got <= 0) break;
    file.text.append(buffer, static_cast<std::size_t>(got));
    // Counted while reading: it may grow, and files of /proc have no size.
    if (file.text.size() > limit) {
      file.problem = fmt::format("is larger than {} bytes", limit);
      break;
    }
  }
  if (!file.problem.empty()) file.text.clear();
  return file;
}

}  // namespace lockstep::spank
