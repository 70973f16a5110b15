// Small files that must be whole or absent, and file descriptors that close themselves.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/error.h"

namespace lockstep {

// An owned POSIX file descriptor.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor();
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// Opens or throws Error with `code`, naming the file and the reason; flags and mode as in open(2).
FileDescriptor open_file(const std::filesystem::path& path, int flags, int mode, ExitCode code);

// The whole file, or nothing where it does not exist; throws Error(internal) where it cannot be read.
std::optional<std::string> read_text(const std::filesystem::path& path);

// Writes to a temporary name beside `path`, fsyncs, renames, fsyncs the folder: a reader sees the old text or
// the new one. Throws Error(cannot_create) and leaves the old file in place; so it does where
// `before_rename`, which is called last before the rename, throws.
void write_atomically(
    const std::filesystem::path& path, std::string_view text,
    const std::function<void()>& before_rename = [] {});

// The same without the fsyncs, for what is written every few seconds and means nothing after the machine has
// failed.
void replace_text(const std::filesystem::path& path, std::string_view text);

// All of `text` to an open file; `path` is named in the Error(cannot_create).
void write_all(int fd, std::string_view text, const std::filesystem::path& path);

// fsync of a file or folder by name; throws Error(cannot_create).
void sync_path(const std::filesystem::path& path);

// rename(2), then fsync of the folder; throws Error(cannot_create).
void rename_durably(const std::filesystem::path& from, const std::filesystem::path& to);

// Creates the folder and its parents; throws Error(cannot_create) naming the part that failed.
void make_folders(const std::filesystem::path& path);

}  // namespace lockstep
