#include "doctor/file_system.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/quota.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <sstream>
#include <system_error>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

namespace lockstep::doctor {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t block = std::size_t{1} << 20;

[[noreturn]] void fail(ExitCode code, std::string_view what, const fs::path& file) {
  throw Error(code, fmt::format("cannot {} {}: {}", what, file.string(), std::strerror(errno)));
}

// Nothing that a file system could compress.
std::string noise() {
  std::string bytes(block, '\0');
  std::mt19937_64 generator(static_cast<std::uint64_t>(::getpid()));
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t value = generator();
    std::memcpy(bytes.data() + at, &value, sizeof value);
  }
  return bytes;
}

}  // namespace

fs::path plain_path(const fs::path& path) {
  const fs::path whole = fs::absolute(path).lexically_normal();
  return whole.has_filename() ? whole : whole.parent_path();
}

fs::path existing_folder(const fs::path& folder) {
  std::error_code error;
  fs::path path = plain_path(folder);
  while (!fs::is_directory(path, error) && path != path.parent_path()) {
    if (fs::exists(fs::symlink_status(path, error))) {
      throw Error(ExitCode::cannot_create,
                  fmt::format("{} is in the way: it is not a folder", path.string()));
    }
    path = path.parent_path();
  }
  return path;
}

Mount mount_of(const fs::path& folder, std::string_view mountinfo) {
  Mount best;
  for (const std::string& line : split(mountinfo, '\n')) {
    const auto dash = line.find(" - ");
    const auto front = split(std::string_view(line).substr(0, dash), ' ');
    if (dash == std::string::npos || front.size() < 6) continue;
    const auto back = split(std::string_view(line).substr(dash + 3), ' ');
    if (back.size() < 2) continue;
    const std::string& point = front[4];
    const std::string path = folder.string();
    const bool below = point == "/" || path == point || path.starts_with(point + "/");
    // Of several mounts on one point the last one counts.
    if (below && point.size() >= best.point.size()) best = {point, back[0], back[1], front[5]};
  }
  return best;
}

std::int64_t free_bytes(const fs::path& folder) {
  struct statvfs status {};
  if (::statvfs(folder.c_str(), &status) != 0)
    fail(ExitCode::cannot_create, "ask for the free space of", folder);
  return static_cast<std::int64_t>(status.f_bavail) * static_cast<std::int64_t>(status.f_frsize);
}

std::optional<std::int64_t> quota_left(const Mount& mount) {
  struct dqblk quota {};
  if (!mount.source.starts_with("/dev/") ||
      ::quotactl(QCMD(Q_GETQUOTA, USRQUOTA), mount.source.c_str(), static_cast<int>(::getuid()),
                 reinterpret_cast<caddr_t>(&quota)) != 0 ||
      quota.dqb_bhardlimit == 0) {
    return std::nullopt;
  }
  constexpr std::int64_t unit = 1024;
  return static_cast<std::int64_t>(quota.dqb_bhardlimit) * unit -
         static_cast<std::int64_t>(quota.dqb_curspace);
}

Transfer write_file(const fs::path& file, std::int64_t bytes, double seconds) {
  const std::string data = noise();
  Transfer transfer;
  const double begin = monotonic_seconds();
  const FileDescriptor fd =
      open_file(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644, ExitCode::cannot_create);
  do {
    write_all(fd.get(), data, file);
    transfer.bytes += static_cast<std::int64_t>(data.size());
  } while (transfer.bytes < bytes && monotonic_seconds() - begin < seconds);
  if (::fsync(fd.get()) != 0) fail(ExitCode::cannot_create, "fsync", file);
  transfer.seconds = monotonic_seconds() - begin;
  // So that a reader on this node does not read from memory.
  ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);
  return transfer;
}

Transfer read_file(const fs::path& file) {
  std::vector<char> room(block);
  Transfer transfer;
  const double begin = monotonic_seconds();
  const FileDescriptor fd = open_file(file, O_RDONLY | O_CLOEXEC, 0, ExitCode::missing_input);
  for (;;) {
    const ssize_t came = ::read(fd.get(), room.data(), room.size());
    if (came < 0) fail(ExitCode::missing_input, "read", file);
    if (came == 0) break;
    transfer.bytes += came;
  }
  transfer.seconds = monotonic_seconds() - begin;
  return transfer;
}

double slowest_sync(const fs::path& file) {
  constexpr int rounds = 5;
  double slowest = 0;
  const FileDescriptor fd = open_file(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644, ExitCode::cannot_create);
  for (int round = 0; round < rounds; ++round) {
    write_all(fd.get(), "a line of metrics\n", file);
    const double begin = monotonic_seconds();
    if (::fsync(fd.get()) != 0) fail(ExitCode::cannot_create, "fsync", file);
    slowest = std::max(slowest, monotonic_seconds() - begin);
  }
  return slowest;
}

std::string flock_problem(const fs::path& file) {
  const FileDescriptor fd = open_file(file, O_RDWR | O_CREAT | O_CLOEXEC, 0644, ExitCode::cannot_create);
  return ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0 ? std::string() : std::strerror(errno);
}

}  // namespace lockstep::doctor
