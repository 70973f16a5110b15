// An NCCL communicator of which no call blocks, and NCCL's errors in words.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <string>
#include <vector>

namespace lockstep::comm::nccl {

// "ncclAllReduce: invalid usage (what NCCL says about its last error)"
std::string words_of(ncclResult_t result, const char* call, ncclComm_t comm = nullptr);

// Errors are Error(peer_failed): NCCL cannot tell a fault of this rank from one of another.
class Handle {
 public:
  Handle() = default;
  ~Handle() { abort(); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  // Comes back at once; is_settled() tells when the ranks have met.
  void begin(const ncclUniqueId& id, int rank, int size);

  // Calls `function` with the communicator.
  template <typename Function>
  void call(const char* name, const Function& function) {
    need(function(comm_), name);
  }
  // Whether the last call has been started in full: until then no other may follow, nor an event on its
  // stream. Throws errors of all calls, those that happen later, too.
  bool is_settled();

  // For memory that calls will use again and again; what NCCL cannot register is used as any other.
  void announce(void* memory, std::size_t bytes);

  // Collective, and comes back at once: is_settled() tells when all ranks are there; then end().
  void begin_end();
  void end() noexcept;
  // Ends everything that is under way; peers are not told, and their calls may never end.
  void abort() noexcept;

 private:
  void need(ncclResult_t result, const char* name);

  ncclComm_t comm_ = nullptr;
  const char* last_ = "";  // the call that is settled, or not
  std::vector<void*> announced_;
};

// How to ask NCCL itself about ranks that do not come, for the end of an error text; empty where it cannot be
// asked.
std::string how_to_ask_nccl();

}  // namespace lockstep::comm::nccl
