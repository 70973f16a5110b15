#include "machine/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include "core/files.h"
#include "core/text.h"
#include "machine/names.h"

namespace lockstep::spank {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t name_limit = 4096;  // names in a folder
constexpr int link_limit = 16;            // links on the way to a file

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

std::optional<std::string> read_link(const fs::path& path) {
  std::array<char, 4096> target{};
  const ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
  if (size <= 0 || size == static_cast<ssize_t>(target.size())) return std::nullopt;
  return std::string(target.data(), static_cast<std::size_t>(size));
}

// The last part comes first, ready to be taken from the end.
void push_parts(std::vector<std::string>& parts, const std::string& path) {
  std::vector<std::string> more = split(path, '/');
  parts.insert(parts.end(), std::make_move_iterator(more.rbegin()), std::make_move_iterator(more.rend()));
}

}  // namespace

Tree::Tree(const MachineSource& source)
    : source_(source),
      live_(source.root.lexically_normal() == "/"),
      deadline_(std::chrono::steady_clock::now() + source.limit) {}

bool Tree::in_time() {
  complete_ = complete_ && std::chrono::steady_clock::now() < deadline_;
  return complete_;
}

void Tree::tell(Reading::Kind kind, const std::string& path, const std::string& text) const {
  if (source_.observe) source_.observe({kind, path, text});
}

std::optional<fs::path> Tree::place(const std::string& path) const {
  if (live_) return source_.root / path;
  std::vector<std::string> todo;
  push_parts(todo, path);
  std::vector<std::string> done;
  int links = 0;
  while (!todo.empty()) {
    const std::string part = std::move(todo.back());
    todo.pop_back();
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      if (done.empty()) return std::nullopt;
      done.pop_back();
      continue;
    }
    fs::path here = source_.root;
    for (const std::string& above : done) here /= above;
    const auto target = read_link(here / part);
    if (!target) {
      done.push_back(part);
    } else if (target->front() == '/' || ++links > link_limit) {
      return std::nullopt;
    } else {
      push_parts(todo, *target);
    }
  }
  fs::path found = source_.root;
  for (const std::string& part : done) found /= part;
  return found;
}

std::optional<std::string> Tree::text(const std::string& path, std::size_t limit) {
  if (!in_time()) return std::nullopt;
  const auto at = place(path);
  if (!at) return std::nullopt;
  // Not blocking: a captured tree may hold a pipe where a file should be.
  const FileDescriptor file(::open(at->c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
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
  return std::string(trim(content));
}

std::optional<std::int64_t> Tree::number(const std::string& path) {
  const auto content = text(path);
  return content ? parse_int(*content) : std::nullopt;
}

std::vector<std::string> Tree::names(const std::string& folder) {
  std::vector<std::string> found;
  if (!in_time()) return found;
  const auto at = place(folder);
  if (!at) return found;
  const std::unique_ptr<DIR, CloseFolder> open(::opendir(at->c_str()));
  if (!open) return found;
  while (found.size() < name_limit) {
    const dirent* entry = ::readdir(open.get());
    if (entry == nullptr) break;
    if (entry->d_name[0] != '.') found.emplace_back(entry->d_name);
  }
  std::sort(found.begin(), found.end(), natural_less);
  return found;
}

bool Tree::has_folder(const std::string& path) {
  if (!in_time()) return false;
  const auto at = place(path);
  struct stat status {};
  if (!at || ::stat(at->c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return false;
  tell(Reading::Kind::folder, path, "");
  return true;
}

std::string Tree::follow(const std::string& path) {
  if (!in_time()) return path;
  const auto folder = place(fs::path(path).parent_path().string());
  if (!folder) return path;
  const auto target = read_link(*folder / fs::path(path).filename());
  if (!target || target->front() == '/') return path;
  tell(Reading::Kind::link, path, *target);
  const fs::path led = (fs::path(path).parent_path() / *target).lexically_normal();
  return led.begin() == led.end() || *led.begin() == ".." ? path : led.string();
}

}  // namespace lockstep::spank
