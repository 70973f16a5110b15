#include "train/checked_files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "core/files.h"

namespace lockstep::train {

namespace fs = std::filesystem;

namespace {

std::string first_line(data::ContentDepth depth) {
  return fmt::format("checked={}\n", depth == data::ContentDepth::x_and_y ? "full" : "labels");
}

}  // namespace

std::string files_text(const data::Dataset& dataset) {
  std::string text = fmt::format("fingerprint={:016x}\n", dataset.fingerprint());
  for (const data::Shard& shard : dataset.shards()) {
    struct stat status {};
    const fs::path path = fs::absolute(shard.file);
    if (::stat(path.c_str(), &status) != 0) {
      throw Error(ExitCode::missing_input,
                  fmt::format("cannot look at {}: {}", path.string(), std::strerror(errno)));
    }
    text += fmt::format("{} {}.{:09} {}\n", status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
                        path.string());
  }
  return text;
}

bool already_checked(const fs::path& note, const std::string& files, data::ContentDepth depth) {
  const auto text = read_text(note);
  if (!text) return false;
  if (*text == first_line(data::ContentDepth::x_and_y) + files) return true;
  return depth == data::ContentDepth::y && *text == first_line(data::ContentDepth::y) + files;
}

void remember_checked(const fs::path& note, const std::string& files, data::ContentDepth depth) {
  make_folders(note.parent_path());
  write_atomically(note, first_line(depth) + files);
}

}  // namespace lockstep::train
