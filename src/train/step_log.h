// CSV files with rows keyed by the optimizer step in the first column (docs/run-folder.md). On resume the
// rows after the checkpoint are dropped, so that each step appears exactly once, also after kill -9.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/folder.h"
#include "core/files.h"

namespace lockstep::train {

// A text as one field: separators become semicolons. A number as the shortest text that reads back exactly,
// and "nan" whatever its sign, which depends on how it arose.
std::string csv_field(std::string_view text);
std::string csv_field(double number);

// Columns that a file has from the first attempt on that has something for them: empty before, and in rows
// of attempts that have not.
struct MoreColumns {
  std::string_view header = {};  // without the first comma
  bool wanted = false;           // by this attempt
};

class StepLog {
 public:
  // Opens or creates the file; `header` is its first line. Rows of steps above `last_step` are removed, a
  // torn last line too. `fence` is asked before each change that replaces the file: where it throws, the file
  // is left as it is. Throws Error(cannot_create); Error(bad_data) where the file has another header.
  StepLog(
      std::filesystem::path path, std::string_view header, std::int64_t last_step,
      checkpoint::Fence fence = [] {}, const MoreColumns& more = {});

  ~StepLog();
  StepLog(const StepLog&) = delete;
  StepLog& operator=(const StepLog&) = delete;

  // Puts `rows` in the place of those of steps above `last_step`, in one atomic change.
  void replace_after(std::int64_t last_step, const std::vector<std::string>& rows);

  // `row` without the newline, beginning with the step; fields that it lacks at its end are empty. One
  // write(2) per row: a reader never sees half of one unless the machine fails, or its disk is full. Rows
  // that cannot be written wait in memory and are tried again with the next one. Returns whether none waits.
  bool append(std::string_view row);

  // To storage: called before the checkpoint that counts on these rows is announced. Throws
  // Error(cannot_create) where a row still waits.
  void sync();

  const std::filesystem::path& path() const { return path_; }

  // The greatest step with a row when the file was opened; 0 where there was none.
  std::int64_t last_row_at_start() const { return last_row_; }

 private:
  std::string whole(std::string_view row) const;
  // Writes the file anew and opens it.
  void rewrite(std::int64_t last_step, const std::vector<std::string>& rows);
  // Writes what waits; returns the error number, 0 where nothing waits any more.
  int write_waiting();

  std::filesystem::path path_;
  std::string header_;  // grows where more columns are found or wanted
  std::string shortest_header_;
  std::string longest_header_;
  std::ptrdiff_t commas_ = 0;  // of header_
  checkpoint::Fence fence_;
  FileDescriptor file_;
  std::string waiting_;  // rows, the first perhaps without what is already in the file
  std::int64_t last_row_ = 0;
};

}  // namespace lockstep::train
