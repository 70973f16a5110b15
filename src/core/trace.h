// A timeline of one rank in the trace-event format of Chrome and Perfetto, for `lockstep train --trace`.
// Where there is no trace, a span costs one look at a null pointer. Spans are also what a profiler is told
// of.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "core/clock.h"
#include "core/files.h"

namespace lockstep {

// The rows of a rank's timeline: its threads, and the streams of its GPU.
enum class Row : int { training, loader, gpu_compute, gpu_communication, gpu_copies };

// Hears of each span as it begins and as it ends, in the span's thread. Those of a thread lie within or
// beside each other.
class SpanObserver {
 public:
  virtual ~SpanObserver() = default;
  virtual void begin(std::string_view name, std::string_view category, Row row) noexcept = 0;
  virtual void end(std::string_view category, Row row) noexcept = 0;
};

class Trace {
 public:
  using Warn = std::function<void(const std::string&)>;

  // Creates the file, or empties it. `rank` becomes the process of the timeline, named "rank 2 on n3". Throws
  // Error(cannot_create). When a later write fails, `warn` is called once and the trace ends there: it never
  // ends the run.
  Trace(const std::filesystem::path& path, int rank, std::string_view node, Warn warn);
  Trace() = default;  // of no file: spans are for the observer alone
  ~Trace();           // closes the JSON array
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  bool has_file() const { return !path_.empty(); }
  // Before the first span of a thread other than the caller's; null: none. It must live until it is replaced.
  void set_observer(SpanObserver* observer) { observer_ = observer; }
  // Before spans are added to one of a GPU's rows.
  void name_gpu_rows();

  // One span, from `begin` to `end` of monotonic_seconds(). Spans of a row lie beside or within each other.
  // Any thread may call this. `step` is shown with the span.
  void add(std::string_view name, std::string_view category, Row row, double begin, double end,
           std::optional<std::int64_t> step = std::nullopt);

  // Of a Span.
  double begin_span(std::string_view name, std::string_view category, Row row);
  void end_span(std::string_view name, std::string_view category, Row row, double begin,
                std::optional<std::int64_t> step);

 private:
  std::int64_t microseconds(double monotonic) const;
  void flush();

  std::filesystem::path path_;  // empty: none
  Warn warn_;
  double monotonic_start_ = 0;  // the same moment on both clocks
  double wall_start_ = 0;
  int rank_ = 0;
  SpanObserver* observer_ = nullptr;
  std::mutex mutex_;  // guards all below
  FileDescriptor file_;
  std::string buffer_;
  double flushed_ = 0;
};

// "trace.json" -> "trace.2.json" for rank 2; with a job "trace.job17.2.json", and
// "trace.job17.restart1.2.json" after it was requeued once, so that the file of an earlier attempt, or job of
// a chain, stays.
std::filesystem::path trace_path(const std::filesystem::path& given, std::string_view job, int restart,
                                 int rank);

// The span of its own lifetime. The texts must live as long.
class Span {
 public:
  Span(Trace* trace, std::string_view name, std::string_view category,
       std::optional<std::int64_t> step = std::nullopt, Row row = Row::training)
      : trace_(trace),
        name_(name),
        category_(category),
        step_(step),
        row_(row),
        begin_(trace != nullptr ? trace->begin_span(name, category, row) : 0) {}
  ~Span() {
    if (trace_ != nullptr) trace_->end_span(name_, category_, row_, begin_, step_);
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  Trace* trace_;
  std::string_view name_;
  std::string_view category_;
  std::optional<std::int64_t> step_;
  Row row_;
  double begin_;
};

}  // namespace lockstep
