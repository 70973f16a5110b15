// Transport over MPI.
#pragma once

#include <memory>

#include "comm/mpi_group.h"
#include "comm/transport.h"

namespace lockstep::comm {

// On a duplicate of the group's MPI communicator; collective. Its waits are counted with the group's
// (MpiGroup::waits()).
std::unique_ptr<Transport> make_mpi_transport(const MpiGroup& group);

}  // namespace lockstep::comm
