#include "comm/agreement.h"

#include <fmt/format.h>

#include "core/error.h"

namespace lockstep::comm {

void agree(Communicator& comm, std::string_view what, const std::function<void()>& work) {
  std::int64_t code = 0;  // finished
  std::string reason;
  try {
    work();
  } catch (const Error& error) {
    if (error.code() == ExitCode::peer_failed) throw;
    code = static_cast<std::int64_t>(error.code());
    reason = error.what();
  } catch (const std::exception& error) {
    code = static_cast<std::int64_t>(ExitCode::internal);
    reason = error.what();
  }
  std::int64_t ok = code == 0 ? 1 : 0;
  comm.all_reduce_min(std::span(&ok, 1));
  if (ok == 1) return;

  const auto codes = gather_values(comm, code);
  const auto reasons = gather_texts(comm, reason);
  int first = -1;
  int failed = 0;
  for (int rank = 0; rank < comm.size(); ++rank) {
    if (codes[static_cast<std::size_t>(rank)] == 0) continue;
    if (first < 0) first = rank;
    ++failed;
  }
  const auto chosen = static_cast<std::size_t>(first);
  throw AgreedError(
      static_cast<ExitCode>(codes[chosen]),
      fmt::format("cannot {}: rank {} on {}: {}{}", what, first, comm.host(first), reasons[chosen],
                  failed > 1 ? fmt::format(" ({} ranks failed)", failed) : ""));
}

}  // namespace lockstep::comm
