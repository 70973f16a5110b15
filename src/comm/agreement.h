// One rank's failure as the same exception on every rank.
#pragma once

#include <functional>
#include <string_view>

#include "comm/group.h"

namespace lockstep::comm {

// Runs `work` here, then agrees with the peers whether it succeeded everywhere. If not, every rank throws the
// same AgreedError with the code of the lowest failing rank: "cannot <what>: rank 2 on node7: <reason>".
// Collective. `work` may hold collective calls that report failure as a status, but must not leave its peers
// alone in one. An Error(peer_failed) passes at once: nobody is left to agree with.
// So does std::bad_alloc: an agreement needs memory itself, and the process that has none has to leave.
void agree(Group& comm, std::string_view what, const std::function<void()>& work);

}  // namespace lockstep::comm
