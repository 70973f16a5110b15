#include "train/successor.h"

#include <fmt/format.h>

#include "core/files.h"
#include "core/text.h"

namespace lockstep::train {

void note_successor(const RunFolder& folder, const std::string& token, const std::string& job) {
  write_atomically(folder.successor(), fmt::format("after={}\njob={}\n", token, job));
}

std::optional<std::string> successor_of(const RunFolder& folder, const std::string& token) {
  const auto text = read_text(folder.successor());
  if (!text) return std::nullopt;
  auto values = parse_key_values(*text);
  // One of an earlier attempt means nothing any more. Slurm is asked for the job: it has to be a number.
  if (values["after"] != token || !parse_int(values["job"])) return std::nullopt;
  return values["job"];
}

}  // namespace lockstep::train
