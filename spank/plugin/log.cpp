#include "plugin/log.h"

#include <algorithm>
#include <array>

#include "plugin/slurm.h"
#include "step/clean_text.h"

namespace lockstep::spank {

namespace {

using Line = std::array<char, 1001>;

// What users and files say ends in logs that others read: one line stays one line. Takes no memory, so that
// it works when there is none.
Line line_of(std::string_view text) noexcept {
  Line line{};
  const std::size_t length = std::min(text.size(), line.size() - 1);
  std::transform(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(length), line.begin(), clean_char);
  return line;
}

}  // namespace

void tell(std::string_view text) noexcept {
  slurm_spank_log("nccl: %s", line_of(text).data());
}

void complain(std::string_view text) noexcept {
  slurm_error("nccl: %s", line_of(text).data());
}

void debug(std::string_view text) noexcept {
  slurm_debug("nccl: %s", line_of(text).data());
}

}  // namespace lockstep::spank
