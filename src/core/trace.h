// A timeline of one rank in the trace-event format of Chrome and Perfetto, for `lockstep train --trace`.
// Where there is no trace, a span costs one look at a null pointer.
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

class Trace {
 public:
  enum class Thread : int { training, loader };
  using Warn = std::function<void(const std::string&)>;

  // Creates the file, or empties it. `rank` becomes the process of the timeline, named "rank 2 on n3". Throws
  // Error(cannot_create). When a later write fails, `warn` is called once and the trace ends there: it never
  // ends the run.
  Trace(const std::filesystem::path& path, int rank, std::string_view node, Warn warn);
  ~Trace();  // closes the JSON array
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  // One span, from `begin` to `end` of monotonic_seconds(). Spans of a thread lie beside or within each
  // other. Any thread may call this. `step` is shown with the span.
  void add(std::string_view name, std::string_view category, Thread thread, double begin, double end,
           std::optional<std::int64_t> step = std::nullopt);

 private:
  std::int64_t microseconds(double monotonic) const;
  void flush();

  std::filesystem::path path_;
  Warn warn_;
  double monotonic_start_;  // the same moment on both clocks
  double wall_start_;
  int rank_;
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

// The span of its own lifetime.
class Span {
 public:
  Span(Trace* trace, std::string_view name, std::string_view category,
       std::optional<std::int64_t> step = std::nullopt, Trace::Thread thread = Trace::Thread::training)
      : trace_(trace),
        name_(name),
        category_(category),
        step_(step),
        thread_(thread),
        begin_(trace != nullptr ? monotonic_seconds() : 0) {}
  ~Span() {
    if (trace_ != nullptr) trace_->add(name_, category_, thread_, begin_, monotonic_seconds(), step_);
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  Trace* trace_;
  std::string_view name_;
  std::string_view category_;
  std::optional<std::int64_t> step_;
  Trace::Thread thread_;
  double begin_;
};

}  // namespace lockstep
