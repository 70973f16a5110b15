#include "comm/transport.h"

#include <fmt/format.h>

#include "core/error.h"

namespace lockstep::comm {

void Transport::throw_wrong_length(std::size_t wanted, int peer, std::string_view came) const {
  throw Error(
      ExitCode::peer_failed,
      fmt::format("rank {} on {} of {} expects {} bytes from rank {} on {}, which sent {}: the ranks do "
                  "not make the same calls",
                  rank(), host(rank()), size(), wanted, peer, host(peer), came));
}

}  // namespace lockstep::comm
