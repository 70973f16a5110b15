#include "core/trace.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cmath>

#include "core/json.h"

namespace lockstep {

namespace {

// What a run that is killed may lose, and what a trace may hold in memory.
constexpr double flush_seconds = 1;
constexpr std::size_t flush_bytes = std::size_t{1} << 16;

std::string metadata(std::string_view name, int rank, int thread, std::string_view value) {
  return fmt::format(R"({{"name":"{}","ph":"M","pid":{},"tid":{},"args":{{{}}}}})", name, rank, thread,
                     value);
}

std::string row_name(int rank, Row row, std::string_view name) {
  return ",\n" + metadata("thread_name", rank, static_cast<int>(row), fmt::format(R"("name":"{}")", name));
}

}  // namespace

Trace::Trace(const std::filesystem::path& path, int rank, std::string_view node, Warn warn)
    : path_(path),
      warn_(std::move(warn)),
      monotonic_start_(monotonic_seconds()),
      wall_start_(wall_seconds()),
      rank_(rank),
      file_(open_file(path, O_WRONLY | O_CREAT | O_TRUNC, 0644, ExitCode::cannot_create)) {
  // Every event but the first brings the comma before it: what has been written is whole at any time but for
  // the closing bracket, which the format allows to be missing.
  const std::string name = fmt::format(R"("name":{})", json_text(fmt::format("rank {} on {}", rank, node)));
  buffer_ = "[\n" + metadata("process_name", rank, 0, name);
  buffer_ += ",\n" + metadata("process_sort_index", rank, 0, fmt::format(R"("sort_index":{})", rank));
  buffer_ += row_name(rank, Row::training, "training") + row_name(rank, Row::loader, "loader");
}

Trace::~Trace() {
  const std::lock_guard guard(mutex_);
  buffer_ += "\n]\n";
  flush();
}

void Trace::name_gpu_rows() {
  const std::lock_guard guard(mutex_);
  buffer_ += row_name(rank_, Row::gpu_compute, "GPU compute");
  buffer_ += row_name(rank_, Row::gpu_communication, "GPU communication");
  buffer_ += row_name(rank_, Row::gpu_copies, "GPU copies");
}

double Trace::begin_span(std::string_view name, std::string_view category, Row row) {
  const double begin = monotonic_seconds();
  if (observer_ != nullptr) observer_->begin(name, category, row);
  return begin;
}

void Trace::end_span(std::string_view name, std::string_view category, Row row, double begin,
                     std::optional<std::int64_t> step) {
  if (observer_ != nullptr) observer_->end(category, row);
  add(name, category, row, begin, monotonic_seconds(), step);
}

std::int64_t Trace::microseconds(double monotonic) const {
  return static_cast<std::int64_t>(std::floor((wall_start_ + (monotonic - monotonic_start_)) * 1e6));
}

void Trace::add(std::string_view name, std::string_view category, Row row, double begin, double end,
                std::optional<std::int64_t> step) {
  if (!has_file()) return;
  // Whole microseconds, rounded the same way at both ends: spans that nest still do.
  const std::int64_t from = microseconds(begin);
  const std::string event =
      fmt::format(R"({{"name":{},"cat":{},"ph":"X","ts":{},"dur":{},"pid":{},"tid":{}{}}})", json_text(name),
                  json_text(category), from, microseconds(end) - from, rank_, static_cast<int>(row),
                  step ? fmt::format(R"(,"args":{{"step":{}}})", *step) : "");
  const std::lock_guard guard(mutex_);
  if (!file_) return;
  buffer_ += ",\n";
  buffer_ += event;
  if (buffer_.size() >= flush_bytes || end - flushed_ >= flush_seconds) flush();
}

void Trace::flush() {
  if (!file_) return;
  try {
    write_all(file_.get(), buffer_, path_);
  } catch (const Error& error) {
    file_ = FileDescriptor();
    warn_(fmt::format("{}; the trace ends here", error.what()));
  }
  buffer_.clear();
  flushed_ = monotonic_seconds();
}

std::filesystem::path trace_path(const std::filesystem::path& given, std::string_view job, int restart,
                                 int rank) {
  std::filesystem::path name = given.stem();
  if (!job.empty()) name += fmt::format(".job{}", job);
  if (restart > 0) name += fmt::format(".restart{}", restart);
  name += fmt::format(".{}", rank);
  name += given.extension();
  return given.parent_path() / name;
}

}  // namespace lockstep
