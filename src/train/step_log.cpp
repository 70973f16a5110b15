#include "train/step_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "core/text.h"

namespace lockstep::train {

namespace {

std::ptrdiff_t commas(std::string_view text) {
  return std::count(text.begin(), text.end(), ',');
}

}  // namespace

std::string csv_field(std::string_view text) {
  return one_line(text, ';', ",");
}

std::string csv_field(double number) {
  return std::isnan(number) ? "nan" : fmt::format("{}", number);
}

StepLog::StepLog(std::filesystem::path path, std::string_view header, std::int64_t last_step,
                 checkpoint::Fence fence, const MoreColumns& more)
    : path_(std::move(path)),
      header_(header),
      shortest_header_(header),
      longest_header_(more.header.empty() ? header_ : fmt::format("{},{}", header, more.header)),
      fence_(std::move(fence)) {
  if (more.wanted) header_ = longest_header_;
  rewrite(last_step, {});
}

std::string StepLog::whole(std::string_view row) const {
  return std::string(row) +
         std::string(static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, commas_ - commas(row))), ',');
}

void StepLog::replace_after(std::int64_t last_step, const std::vector<std::string>& rows) {
  // Whatever waits is of later steps: a checkpoint is made only where none waits.
  waiting_.clear();
  rewrite(last_step, rows);
}

void StepLog::rewrite(std::int64_t last_step, const std::vector<std::string>& rows) {
  const std::string old = read_text(path_).value_or("");
  if (old.starts_with(longest_header_ + "\n")) header_ = longest_header_;
  commas_ = commas(header_);
  std::string kept = fmt::format("{}\n", header_);
  std::size_t at = 0;
  bool first = true;
  while (at < old.size()) {
    const std::size_t end = old.find('\n', at);
    if (end == std::string::npos) break;  // torn by a crash: its step will be run again
    const std::string_view line = std::string_view(old).substr(at, end - at);
    at = end + 1;
    if (std::exchange(first, false)) {
      if (line != header_ && line != shortest_header_) {
        throw Error(ExitCode::bad_data,
                    fmt::format("{} begins with \"{}\", not with \"{}\": it is not ours; move it "
                                "away or use another run.dir",
                                path_.string(), line, header_));
      }
      continue;
    }
    const auto step = parse_int(line.substr(0, line.find(',')));
    if (!step || *step > last_step) continue;
    kept.append(whole(line)).push_back('\n');
    last_row_ = std::max(last_row_, *step);
  }
  for (const std::string& row : rows) kept.append(whole(row)).push_back('\n');
  // Always a new file: a predecessor that is cut off but not dead appends to the old one.
  write_atomically(path_, kept, fence_);
  file_ = open_file(path_, O_WRONLY | O_APPEND, 0, ExitCode::cannot_create);
}

StepLog::~StepLog() {
  write_waiting();
}

bool StepLog::append(std::string_view row) {
  waiting_.append(whole(row)).push_back('\n');
  return write_waiting() == 0;
}

int StepLog::write_waiting() {
  std::size_t done = 0;
  int error = 0;
  while (error == 0 && done < waiting_.size()) {
    const ssize_t got = ::write(file_.get(), waiting_.data() + done, waiting_.size() - done);
    if (got >= 0) {
      done += static_cast<std::size_t>(got);
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  waiting_.erase(0, done);
  return error;
}

void StepLog::sync() {
  if (const int error = write_waiting(); error != 0) {
    throw Error(ExitCode::cannot_create,
                fmt::format("cannot write {}: {}", path_.string(), std::strerror(error)));
  }
  if (::fsync(file_.get()) != 0) {
    throw Error(ExitCode::cannot_create,
                fmt::format("cannot fsync {}: {}", path_.string(), std::strerror(errno)));
  }
}

}  // namespace lockstep::train
