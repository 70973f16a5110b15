// The file system that a folder lies on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep::doctor {

// Absolute, without dots and a slash at the end.
std::filesystem::path plain_path(const std::filesystem::path& path);

// The folder itself, or the nearest one above it that is there.
std::filesystem::path existing_folder(const std::filesystem::path& folder);

struct Mount {
  std::string point;
  std::string type;     // "ext4", "nfs4", "lustre"
  std::string source;   // "/dev/sda1", "server:/export"
  std::string options;  // "rw,relatime"
};
// `mountinfo`: the text of /proc/self/mountinfo. Empty where nothing fits.
Mount mount_of(const std::filesystem::path& folder, std::string_view mountinfo);

// Bytes that this user may still write; throws Error(cannot_create).
std::int64_t free_bytes(const std::filesystem::path& folder);

// Bytes that the user's quota leaves, where the kernel knows one: on local file systems.
std::optional<std::int64_t> quota_left(const Mount& mount);

struct Transfer {
  std::int64_t bytes = 0;
  double seconds = 0;
  double rate() const { return seconds > 0 ? static_cast<double>(bytes) / seconds : 0; }
};
// Until so many bytes or seconds are over; the writer's last step is an fsync, which counts. Throw
// Error(cannot_create) and Error(missing_input).
Transfer write_file(const std::filesystem::path& file, std::int64_t bytes, double seconds);
Transfer read_file(const std::filesystem::path& file);

// The longest of a few fsyncs after a small write, in seconds; throws Error(cannot_create).
double slowest_sync(const std::filesystem::path& file);

// Whether flock(2) works here, which HDF5 takes by default; why not, or empty.
std::string flock_problem(const std::filesystem::path& file);

}  // namespace lockstep::doctor
