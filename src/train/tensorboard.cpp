#include "train/tensorboard.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <vector>

#include "core/clock.h"
#include "core/text.h"

namespace lockstep::train {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view prefix = "events.out.tfevents.";
constexpr std::size_t flush_bytes = std::size_t{1} << 18;

// TensorBoard reads the files of a folder in the order of their names, and never goes back to an earlier one:
// the time in the name must grow from attempt to attempt, whatever the clocks of their nodes say.
std::int64_t next_time(const fs::path& folder) {
  auto time = static_cast<std::int64_t>(wall_seconds());
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix)) continue;
    const std::string rest = name.substr(prefix.size());
    if (const auto earlier = parse_int(rest.substr(0, rest.find('.')))) time = std::max(time, *earlier + 1);
  }
  return time;
}

}  // namespace

TensorBoard::TensorBoard(const fs::path& folder, std::string_view name, std::int64_t step, Warn warn)
    : warn_(std::move(warn)) {
  try {
    make_folders(folder);
    path_ = folder / fmt::format("{}{:010}.{}", prefix, next_time(folder), name);
    file_ = open_file(path_, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0644, ExitCode::cannot_create);
    buffer_ = framed(version_event(wall_seconds()));
    go_back_to(step);
    flush();
  } catch (const std::exception& error) {
    give_up(error.what());
  }
}

void TensorBoard::add(std::int64_t step, std::span<const Scalar> scalars) {
  if (!file_) return;
  std::vector<Scalar> known;
  std::copy_if(scalars.begin(), scalars.end(), std::back_inserter(known),
               [](const Scalar& scalar) { return !std::isnan(scalar.value); });
  if (known.empty()) return;
  buffer_ += framed(scalars_event(wall_seconds(), step, known));
  if (buffer_.size() >= flush_bytes) flush();
}

void TensorBoard::go_back_to(std::int64_t step) {
  // Readers drop the step that is named, too.
  buffer_ += framed(restart_event(wall_seconds(), step + 1));
}

void TensorBoard::flush() {
  if (!file_ || buffer_.empty()) return;
  try {
    write_all(file_.get(), buffer_, path_);
    buffer_.clear();
  } catch (const Error& error) {
    give_up(error.what());
  }
}

void TensorBoard::give_up(const std::string& reason) {
  file_ = FileDescriptor();
  buffer_.clear();
  warn_(fmt::format("{}: no more event files for TensorBoard in this attempt; training goes on", reason));
}

}  // namespace lockstep::train
