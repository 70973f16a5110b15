#include "machine/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <utility>

#include "core/files.h"
#include "core/text.h"
#include "machine/names.h"
#include "step/clean_text.h"

namespace lockstep::spank {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t name_limit = 4096;  // names in a folder
constexpr std::size_t path_limit = 4096;
constexpr int depth_limit = 64;  // parts of a path and links among them

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

bool is_odd(char c) {
  return !is_printable(c) && c != '\n' && c != '\t';
}

// Names end up in lists with commas, on terminals and in environments.
bool is_plain(std::string_view name) {
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return is_printable(c) && c != ' ' && c != ',' && c != '='; });
}

std::optional<std::string> read_link(const fs::path& path) {
  std::array<char, 4096> target{};
  const ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
  if (size <= 0 || size == static_cast<ssize_t>(target.size())) return std::nullopt;
  return std::string(target.data(), static_cast<std::size_t>(size));
}

// The folder of `path`, empty for the root, and the name in it.
std::pair<std::string, std::string> split_last(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return {"", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

std::string join(const std::string& folder, const std::string& name) {
  return folder.empty() ? name : folder + "/" + name;
}

// Where a link in `folder` leads; nothing for absolute links and those out of the root.
std::optional<std::string> led_to(const std::string& folder, const std::string& target) {
  if (target.front() == '/') return std::nullopt;
  std::string led = fs::path(join(folder, target)).lexically_normal().string();
  if (led.empty() || led == "." || led == ".." || led.starts_with("../")) return std::nullopt;
  if (led.back() == '/') led.pop_back();
  return led;
}

}  // namespace

Tree::Tree(const MachineSource& source)
    : source_(source),
      live_(source.root.lexically_normal() == "/"),
      cpu_deadline_(source.cpu_clock() + source.limit),
      wall_deadline_(source.wall_clock() + source.wall_limit) {}

bool Tree::in_time() {
  complete_ = complete_ && source_.cpu_clock() < cpu_deadline_ && source_.wall_clock() < wall_deadline_;
  return complete_;
}

void Tree::tell(Reading::Kind kind, const std::string& path, const std::string& text) const {
  if (source_.observe) source_.observe({kind, path, text});
}

std::optional<std::string> Tree::real(const std::string& path, int depth) {
  if (live_ || path.empty()) return path;
  if (depth > depth_limit || path.size() > path_limit) return std::nullopt;
  if (path == ".." || path.ends_with("/..")) return std::nullopt;
  if (const auto known = real_folders_.find(path); known != real_folders_.end()) return known->second;
  const auto [folder, name] = split_last(path);
  std::optional<std::string> found = real(folder, depth + 1);
  if (found) {
    const auto target = read_link(place(join(*found, name)));
    if (!target) {
      found = join(*found, name);
    } else if (const auto led = led_to(*found, *target)) {
      found = real(*led, depth + 1);
    } else {
      found.reset();
    }
  }
  real_folders_.emplace(path, found);
  return found;
}

std::optional<std::string> Tree::text(const std::string& path, std::size_t limit) {
  if (!in_time()) return std::nullopt;
  const auto [folder, name] = split_last(path);
  const auto at = real(folder);
  if (!at) return std::nullopt;
  // No link: sysfs has none to a file. Not blocking: a captured tree may hold a pipe where a file should be.
  const FileDescriptor file(
      ::open(place(join(*at, name)).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  std::string content(limit, '\0');
  std::size_t size = 0;
  while (size < limit) {
    const ssize_t got = ::read(file.get(), content.data() + size, limit - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  content.resize(size);
  tell(Reading::Kind::file, path, content);
  std::replace_if(content.begin(), content.end(), is_odd, '?');
  return std::string(trim(content));
}

std::optional<std::int64_t> Tree::number(const std::string& path) {
  const auto content = text(path);
  return content ? parse_int(*content) : std::nullopt;
}

std::vector<std::string> Tree::names(const std::string& folder) {
  std::vector<std::string> found;
  if (!in_time()) return found;
  const auto at = real(folder);
  if (!at) return found;
  const std::unique_ptr<DIR, CloseFolder> open(::opendir(place(*at).c_str()));
  if (!open) return found;
  while (found.size() < name_limit) {
    const dirent* entry = ::readdir(open.get());
    if (entry == nullptr) break;
    if (entry->d_name[0] != '.' && is_plain(entry->d_name)) found.emplace_back(entry->d_name);
  }
  std::sort(found.begin(), found.end(), natural_less);
  return found;
}

bool Tree::has_folder(const std::string& path) {
  if (!in_time()) return false;
  const auto at = real(path);
  struct stat status {};
  if (!at || ::stat(place(*at).c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return false;
  tell(Reading::Kind::folder, path, "");
  return true;
}

std::string Tree::follow(const std::string& path) {
  if (!in_time()) return path;
  const auto [folder, name] = split_last(path);
  const auto at = real(folder);
  if (!at) return path;
  const auto target = read_link(place(join(*at, name)));
  const auto led = target ? led_to(folder, *target) : std::nullopt;
  if (!led) return path;
  tell(Reading::Kind::link, path, *target);
  return *led;
}

}  // namespace lockstep::spank
