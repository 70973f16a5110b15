// The rows of events.csv: the story of a run over all its attempts. Rank 0 writes most of them (records.h); a
// failure is told by whichever rank noticed it, a requeue by `lockstep requeue`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace lockstep::train {

inline constexpr std::string_view event_header = "step,time,event,detail";

// One row, without its newline, at this moment. Commas and line breaks in `detail` become semicolons.
std::string event_row(std::int64_t step, std::string_view name, std::string_view detail);

// Appends a row from outside the run's own records, and begins the file where there is none. Does nothing
// where the run's folder does not exist. Throws Error(cannot_create).
void append_event(const std::filesystem::path& file, std::int64_t step, std::string_view name,
                  std::string_view detail);

// How long the run has waited since the attempt before ended, by the text of events.csv: "; 34 s after it
// stopped",
// "; 34 s after it failed", or that the attempt left no word; empty where there was none.
std::string waiting_text(std::string_view events, double now);

}  // namespace lockstep::train
