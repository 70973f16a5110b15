// The fake NCCL's communicators.
#pragma once

#include <nccl.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "nccl_exchange.h"
#include "nccl_meeting.h"

// In the real library this name is all that a program knows of it.
struct ncclComm {
  enum class State { beginning, ready, finalizing, finalized };

  fake_gpu::nccl::Line line;
  bool blocking = true;
  int device = 0;
  State state = State::beginning;
  std::unique_ptr<fake_gpu::nccl::Meeting> meeting;  // of the beginning
  std::unique_ptr<fake_gpu::nccl::Exchange> parting;
  bool stalled = false;  // by a fault: the beginning comes to no end
  bool used = false;
  cudaStream_t stream = nullptr;                           // of the first call; all others use it too
  std::int64_t collectives = 0;                            // calls so far
  std::vector<std::int64_t> sent, received;                // messages so far, by peer
  std::vector<std::function<ncclResult_t()>> in_progress;  // of a call that has returned ncclInProgress
  int polls = 0;
  std::atomic<int> queued{0};  // calls that are not done
  std::atomic<int> error{ncclSuccess};
  std::string last_error;
  std::vector<void*> registered;
  std::atomic<bool> aborted{false};
  std::mutex working;  // the device's thread, in one of its calls
};

namespace fake_gpu::nccl {

// Of a live communicator; dies for another. `call`: who asks.
std::shared_ptr<ncclComm> find(ncclComm_t comm, const char* call);

// The same for a call that queues work: dies where the communicator cannot take it.
std::shared_ptr<ncclComm> find_ready(ncclComm_t comm, const char* call);

ncclResult_t code_of(const std::string& name);

// What a fault makes of a call.
struct Fault {
  ncclResult_t at_once = ncclSuccess;
  ncclResult_t later = ncclSuccess;  // as an asynchronous error
  bool stall = false;                // what is queued comes to no end
};
Fault fault_of(const char* call);

// Runs `launch`, or keeps it for later polls where this is the first call of a communicator that does not
// block.
ncclResult_t launch(const std::shared_ptr<ncclComm>& comm, std::function<ncclResult_t()> launch);

// The calls of a group, all at its end; dies where the group is left open when another call comes.
void need_no_open_group(const char* call);

}  // namespace fake_gpu::nccl
