#include "train/attempt.h"

#include <fmt/format.h>

#include "core/files.h"
#include "core/text.h"

namespace lockstep::train {

std::optional<std::int64_t> process_start(long pid) {
  std::optional<std::string> text;
  try {
    text = read_text(fmt::format("/proc/{}/stat", pid));
  } catch (const Error&) {
    // It ended between open and read.
  }
  if (!text) return std::nullopt;
  // The name in brackets may hold blanks and brackets: the fields are counted from its end.
  const auto fields = split(trim(text->substr(text->rfind(')') + 1)), ' ');
  constexpr std::size_t state = 0;
  constexpr std::size_t start_time = 19;
  if (fields.size() <= start_time || fields[state] == "Z" || fields[state] == "X") return std::nullopt;
  return parse_int(fields[start_time]);
}

}  // namespace lockstep::train
