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

std::string to_text(const Attempt& attempt) {
  return fmt::format("job={}\nrestart={}\ncluster={}\nnode={}\npid={}\nstarted={}\nslurm={}\n", attempt.job,
                     attempt.restart, attempt.cluster, attempt.node, attempt.pid, attempt.started,
                     attempt.in_slurm ? 1 : 0);
}

Attempt parse_attempt(std::string_view text) {
  auto values = parse_key_values(text);
  Attempt attempt;
  attempt.job = values["job"];
  attempt.restart = static_cast<int>(parse_int(values["restart"]).value_or(0));
  attempt.cluster = values["cluster"];
  attempt.node = values["node"];
  attempt.pid = static_cast<long>(parse_int(values["pid"]).value_or(0));
  attempt.started = parse_int(values["started"]).value_or(0);
  attempt.in_slurm = values["slurm"] == "1";
  return attempt;
}

}  // namespace lockstep::train
