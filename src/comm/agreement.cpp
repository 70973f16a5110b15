#include "comm/agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "core/error.h"

namespace lockstep::comm {

void agree(Group& comm, std::string_view what, const std::function<void()>& work) {
  std::int64_t code = 0;  // finished
  std::string reason;
  const auto explain = [&](const std::exception& error) {
    reason =
        fmt::format("cannot {}: rank {} on {}: {}", what, comm.rank(), comm.host(comm.rank()), error.what());
  };
  try {
    work();
  } catch (const Error& error) {
    if (error.code() == ExitCode::peer_failed) throw;
    code = static_cast<std::int64_t>(error.code());
    explain(error);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    code = static_cast<std::int64_t>(ExitCode::internal);
    explain(error);
  }
  std::int64_t ok = code == 0 ? 1 : 0;
  comm.all_reduce_min(std::span(&ok, 1));
  if (ok == 1) return;

  const auto codes = gather_values(comm, code);
  const auto reasons = gather_texts(comm, reason);
  std::size_t first = 0;
  while (codes[first] == 0) ++first;
  const auto failed = static_cast<std::int64_t>(codes.size()) - std::count(codes.begin(), codes.end(), 0);
  throw AgreedError(
      static_cast<ExitCode>(codes[first]),
      failed > 1 ? fmt::format("{} ({} ranks failed)", reasons[first], failed) : reasons[first]);
}

}  // namespace lockstep::comm
