// Transport between threads of one process: ranks for tests, and for measuring algorithms without a network.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/transport.h"

namespace lockstep::comm {

// One for each rank, each for a thread of its own. `hosts` are the ranks' nodes; without them all are on one.
std::vector<std::unique_ptr<Transport>> make_thread_transports(int size, std::vector<std::string> hosts = {});

}  // namespace lockstep::comm
