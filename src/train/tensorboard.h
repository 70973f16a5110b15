// The curves of a run for TensorBoard: one event file per attempt in RUN/tensorboard, written by rank 0. It
// is there to be looked at: no failure here ends a run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>

#include "core/files.h"
#include "train/event_record.h"

namespace lockstep::train {

class TensorBoard {
 public:
  using Warn = std::function<void(const std::string&)>;

  // Creates the folder and this attempt's file in it; `name` (node and attempt) becomes part of the file's
  // name. The curves of earlier attempts end at `step`, the one of the checkpoint that the run resumes from.
  // When anything fails, here or later, `warn` is called once and nothing more is written.
  TensorBoard(const std::filesystem::path& folder, std::string_view name, std::int64_t step, Warn warn);
  ~TensorBoard() { flush(); }
  TensorBoard(const TensorBoard&) = delete;
  TensorBoard& operator=(const TensorBoard&) = delete;

  // Kept in memory until flush(), or until there is much of it. Scalars that are NaN are left out: the run
  // has no such number.
  void add(std::int64_t step, std::span<const Scalar> scalars);

  // What was written for steps after `step` is undone.
  void go_back_to(std::int64_t step);

  void flush();

 private:
  void give_up(const std::string& reason);

  std::filesystem::path path_;
  Warn warn_;
  FileDescriptor file_;
  std::string buffer_;
};

}  // namespace lockstep::train
