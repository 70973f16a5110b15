#include "command/captured_tree.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <system_error>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

namespace lockstep::spank {

namespace fs = std::filesystem;

namespace {

constexpr int most_links = 16;  // on the way to a file

void write_file(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw Error(ExitCode::cannot_create, fmt::format("cannot write {}", path.string()));
}

}  // namespace

CapturedTree::CapturedTree(fs::path from, fs::path to) : from_(std::move(from)), to_(std::move(to)) {}

fs::path CapturedTree::make_way(const std::string& path) {
  std::vector<std::string> todo = split(path, '/');
  fs::path done;
  for (int links = 0; !todo.empty();) {
    const std::string part = todo.front();
    todo.erase(todo.begin());
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      if (done.empty()) return {};
      done = done.parent_path();
      continue;
    }
    std::error_code error;
    const fs::path target = fs::read_symlink(from_ / done / part, error);
    if (error) {
      done /= part;
      continue;
    }
    if (target.is_absolute() || ++links > most_links) return {};
    make_folders(to_ / done);
    fs::create_symlink(target, to_ / done / part, error);  // it may be there already
    const std::vector<std::string> more = split(target.string(), '/');
    todo.insert(todo.begin(), more.begin(), more.end());
  }
  return done;
}

void CapturedTree::add(const Reading& reading) {
  const fs::path place = make_way(reading.path);
  if (place.empty()) return;
  switch (reading.kind) {
    case Reading::Kind::file:
      add_file(place.string(), reading.text);
      break;
    case Reading::Kind::folder:
    case Reading::Kind::link:
      make_folders(to_ / place);
      break;
  }
}

void CapturedTree::add_file(const std::string& path, const std::string& text) {
  const fs::path file = to_ / path;
  make_folders(file.parent_path());
  write_file(file, text);
}

}  // namespace lockstep::spank
