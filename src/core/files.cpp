#include "core/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace lockstep {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(ExitCode code, std::string_view what, const fs::path& path, int error) {
  throw Error(code, fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(error)));
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

void rename_file(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) fail(ExitCode::cannot_create, "rename to", to, errno);
}

void replace(const fs::path& path, std::string_view text, bool durably,
             const std::function<void()>& before_rename) {
  // The pid keeps two writers on one node apart; between nodes the last rename wins, whole either way.
  const fs::path temporary =
      folder_of(path) / fmt::format(".{}.tmp.{}", path.filename().string(), ::getpid());
  try {
    const FileDescriptor file =
        open_file(temporary, O_WRONLY | O_CREAT | O_TRUNC, 0644, ExitCode::cannot_create);
    write_all(file.get(), text, temporary);
    if (durably && ::fsync(file.get()) != 0) fail(ExitCode::cannot_create, "fsync", temporary, errno);
    before_rename();
    rename_file(temporary, path);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  if (durably) sync_path(folder_of(path));
}

}  // namespace

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

FileDescriptor open_file(const fs::path& path, int flags, int mode, ExitCode code) {
  int fd = -1;
  do fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  while (fd < 0 && errno == EINTR);
  if (fd < 0) fail(code, (flags & O_CREAT) != 0 ? "create" : "open", path, errno);
  return FileDescriptor(fd);
}

std::optional<std::string> read_text(const fs::path& path) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    fail(ExitCode::internal, "read", path, errno);
  }
  std::string text;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t got = ::read(file.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(ExitCode::internal, "read", path, errno);
    if (got == 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
  }
}

void write_atomically(const fs::path& path, std::string_view text,
                      const std::function<void()>& before_rename) {
  replace(path, text, true, before_rename);
}

void replace_text(const fs::path& path, std::string_view text) {
  replace(path, text, false, [] {});
}

void write_all(int fd, std::string_view text, const fs::path& path) {
  while (!text.empty()) {
    const ssize_t done = ::write(fd, text.data(), text.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail(ExitCode::cannot_create, "write", path, errno);
    text.remove_prefix(static_cast<std::size_t>(done));
  }
}

void sync_path(const fs::path& path) {
  const FileDescriptor file = open_file(path, O_RDONLY, 0, ExitCode::cannot_create);
  // Some file systems refuse fsync on a folder (EINVAL): there a rename needs none.
  if (::fsync(file.get()) != 0 && errno != EINVAL) fail(ExitCode::cannot_create, "fsync", path, errno);
}

void rename_durably(const fs::path& from, const fs::path& to) {
  rename_file(from, to);
  sync_path(folder_of(to));
}

void make_folders(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error || !fs::is_directory(path)) {
    throw Error(ExitCode::cannot_create, fmt::format("cannot create folder {}: {}", path.string(),
                                                     error ? error.message() : "a file of that name exists"));
  }
}

}  // namespace lockstep
