// CSV files with rows keyed by the optimizer step in the first column (docs/formats.md). On resume the rows
// after the checkpoint are dropped, so that each step appears exactly once, also after kill -9.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/files.h"

namespace lockstep::train {

class StepLog {
 public:
  // Opens or creates the file; `header` is its first line. Rows of steps above `last_step` are removed, a
  // torn last line too. Throws Error(cannot_create); Error(bad_data) where the file has another header.
  StepLog(std::filesystem::path path, std::string_view header, std::int64_t last_step);

  // `row` without the newline, beginning with the step. One write(2) per row: a reader never sees half of one
  // unless the machine fails.
  void append(std::string_view row);

  // To storage: called before the checkpoint that counts on these rows is announced.
  void sync();

  // The greatest step with a row when the file was opened; 0 where there was none.
  std::int64_t last_row_at_start() const { return last_row_; }

 private:
  std::filesystem::path path_;
  FileDescriptor file_;
  std::int64_t last_row_ = 0;
};

}  // namespace lockstep::train
