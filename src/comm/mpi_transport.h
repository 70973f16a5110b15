// Transport over MPI.
#pragma once

#include <cstddef>
#include <memory>

#include "comm/mpi_group.h"
#include "comm/transport.h"

namespace lockstep::comm {

// On a duplicate of the group's MPI communicator; collective. Its waits are counted with the group's
// (MpiGroup::waits()). Messages move in pieces of `piece` bytes (MPI counts are 32-bit).
// A wait naps; the waiting thread's timer slack is short meanwhile.
std::unique_ptr<Transport> make_mpi_transport(const MpiGroup& group,
                                              std::size_t piece = std::size_t{1} << 30);

}  // namespace lockstep::comm
