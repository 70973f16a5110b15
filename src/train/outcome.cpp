#include "train/outcome.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/files.h"
#include "core/text.h"

namespace lockstep::train {

namespace {

std::filesystem::path path_of(const std::filesystem::path& run, const std::string& token) {
  return run / "outcome" / token;
}

}  // namespace

bool write_outcome(const std::filesystem::path& run, const std::string& token, const Outcome& outcome) {
  const std::filesystem::path path = path_of(run, token);
  make_folders(path.parent_path());
  // The process id is the same on two nodes now and then, the rank's own text is not: both go into the name.
  const std::filesystem::path own =
      path.parent_path() /
      fmt::format(".{}.{:016x}.{}", token, std::hash<std::string>{}(outcome.who), ::getpid());
  write_atomically(own, fmt::format("code={}\nstep={}\nreason={}\nwho={}\n", static_cast<int>(outcome.code),
                                    outcome.step, one_line(outcome.reason), one_line(outcome.who)));
  // link(2) fails where the name exists: that is what makes the first one win.
  const bool first = ::link(own.c_str(), path.c_str()) == 0;
  const int error = errno;
  ::unlink(own.c_str());
  if (!first && error != EEXIST) {
    throw Error(ExitCode::cannot_create,
                fmt::format("cannot create {}: {}", path.string(), std::strerror(error)));
  }
  if (first) sync_path(path.parent_path());
  return first;
}

std::filesystem::path nccl_report(const std::filesystem::path& run, const std::string& token, int rank) {
  return run / "outcome" / fmt::format("{}.nccl-rank-{}", token, rank);
}

std::optional<Outcome> read_outcome(const std::filesystem::path& run, const std::string& token) {
  const auto text = read_text(path_of(run, token));
  if (!text) return std::nullopt;
  return parse_outcome(*text);
}

Outcome parse_outcome(std::string_view text) {
  auto values = parse_key_values(text);
  Outcome outcome;
  // A garbled number must not become another code by being cut.
  const auto code = parse_int(values["code"]);
  if (code && *code >= 0 && *code <= 255) outcome.code = static_cast<ExitCode>(*code);
  outcome.step = parse_int(values["step"]).value_or(0);
  outcome.reason = values["reason"];
  outcome.who = values["who"];
  return outcome;
}

}  // namespace lockstep::train
