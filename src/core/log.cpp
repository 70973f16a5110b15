#include "core/log.h"

#include <unistd.h>

namespace lockstep {

std::string with_rank(int rank, std::string_view node, std::string_view text) {
  const std::string me = fmt::format("rank {} on {}", rank, node);
  return text.starts_with(me) ? std::string(text) : fmt::format("{}: {}", me, text);
}

void Log::write(const std::string& line) {
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t got = ::write(STDERR_FILENO, line.data() + done, line.size() - done);
    if (got <= 0) return;  // nobody is left to tell
    done += static_cast<std::size_t>(got);
  }
}

}  // namespace lockstep
