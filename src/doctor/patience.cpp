#include "doctor/patience.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>

#include "core/error.h"
#include "core/within.h"

namespace lockstep::doctor {

void Patience::require_answers(std::string_view what) const {
  if (lost()) throw Error(ExitCode::peer_failed, fmt::format("{}: not tried after \"{}\"", what, lost_));
}

Facts Patience::run(std::string_view what, const std::function<Facts()>& work) {
  require_answers(what);
  std::optional<Facts> facts = within<Facts>(std::chrono::duration<double>(limit_), work);
  if (!facts) {
    lost_ = what;
    throw Error(ExitCode::peer_failed, fmt::format("{}: no answer within {:.0f} s", what, limit_));
  }
  return std::move(*facts);
}

}  // namespace lockstep::doctor
