#include "train/step_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/text.h"

namespace lockstep::train {

StepLog::StepLog(std::filesystem::path path, std::string_view header, std::int64_t last_step)
    : path_(std::move(path)) {
  std::string kept = fmt::format("{}\n", header);
  const std::string old = read_text(path_).value_or("");
  std::size_t at = 0;
  bool first = true;
  while (at < old.size()) {
    const std::size_t end = old.find('\n', at);
    if (end == std::string::npos) break;  // torn by a crash: its step will be run again
    const std::string_view line = std::string_view(old).substr(at, end - at);
    at = end + 1;
    if (std::exchange(first, false)) {
      if (line != header) {
        throw Error(ExitCode::bad_data,
                    fmt::format("{} begins with \"{}\", not with \"{}\": it is not ours; move it "
                                "away or use another run.dir",
                                path_.string(), line, header));
      }
      continue;
    }
    const auto step = parse_int(line.substr(0, line.find(',')));
    if (!step || *step > last_step) continue;
    kept.append(line).push_back('\n');
    last_row_ = std::max(last_row_, *step);
  }
  // Always a new file: a predecessor that is cut off but not dead appends to the old one.
  write_atomically(path_, kept);
  file_ = open_file(path_, O_WRONLY | O_APPEND, 0, ExitCode::cannot_create);
}

void StepLog::append(std::string_view row) {
  write_all(file_.get(), fmt::format("{}\n", row), path_);
}

void StepLog::sync() {
  if (::fsync(file_.get()) != 0) {
    throw Error(ExitCode::cannot_create,
                fmt::format("cannot fsync {}: {}", path_.string(), std::strerror(errno)));
  }
}

}  // namespace lockstep::train
