// What a run says on standard error. Slurm keeps it in the job's output file, so each line stands by itself.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace lockstep {

// "rank 3 on n2: text", once: many an error begins so by itself.
std::string with_rank(int rank, std::string_view node, std::string_view text);

class Log {
 public:
  // `node` is this rank's node name. Only rank 0 writes info lines: they tell the story of the whole run.
  Log(int rank, std::string node) : rank_(rank), node_(std::move(node)) {}

  void info(std::string_view text) const {
    if (rank_ == 0) write(fmt::format("lockstep: {}\n", text));
  }
  // What all ranks know: told once.
  void agreed_error(std::string_view text) const {
    if (rank_ == 0) write(fmt::format("lockstep: error: {}\n", text));
  }
  void agreed_warning(std::string_view text) const {
    if (rank_ == 0) write(fmt::format("lockstep: warning: {}\n", text));
  }
  // Warnings and errors come from any rank and say which.
  void warn(std::string_view text) const {
    write(fmt::format("lockstep: warning: {}\n", with_rank(rank_, node_, text)));
  }
  void error(std::string_view text) const {
    write(fmt::format("lockstep: error: {}\n", with_rank(rank_, node_, text)));
  }

  // The launcher's word for the rank holds until the ranks have been put in order. Before other threads log.
  void set_rank(int rank) { rank_ = rank; }
  int rank() const { return rank_; }
  const std::string& node() const { return node_; }

 private:
  // One write(2) per line, so that lines of several ranks do not mix.
  static void write(const std::string& line);

  int rank_;
  std::string node_;
};

}  // namespace lockstep
