#include "doctor/patience.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>

#include "core/error.h"
#include "core/within.h"

namespace lockstep::doctor {

Facts Patience::run(std::string_view what, const std::function<Facts()>& work) {
  if (lost_) throw Error(ExitCode::peer_failed, fmt::format("{}: not tried after that", what));
  std::optional<Facts> facts = within<Facts>(std::chrono::duration<double>(limit_), work);
  if (!facts) {
    lost_ = true;
    throw Error(ExitCode::peer_failed, fmt::format("{}: no answer within {:.0f} s", what, limit_));
  }
  return std::move(*facts);
}

}  // namespace lockstep::doctor
