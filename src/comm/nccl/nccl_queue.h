// The calls of an NCCL communicator that are under way, and what becomes of them.
//
// A call is work on NCCL's stream, behind all that the device was given before, and an event behind it. The
// host goes on. Whoever wants the result lets the device's stream wait for the event.
//
// A failure (NCCL's, the device's, a call that is not done within the limit) goes through the roll call as on
// the host; then everything is aborted: the call of a rank that is still there would wait for ever.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/host_communicator.h"
#include "comm/nccl/nccl_handle.h"
#include "comm/nccl/nccl_watch.h"
#include "comm/roll_call.h"
#include "comm/wait_count.h"

namespace lockstep::comm::nccl {

class Queue final : public std::enable_shared_from_this<Queue> {
 public:
  // All ranks make one on the same transport before its first message.
  Queue(std::shared_ptr<Watch> watch, std::unique_ptr<Transport> transport,
        const HostCommunicatorOptions& options);
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  // Collective, before the first call: NCCL's ranks find each other, within the limit.
  void meet();

  const RollCall& ranks() const { return *roll_; }
  std::unique_ptr<Transport> duplicate_transport() { return roll_->duplicate(); }
  const std::shared_ptr<Watch>& watch() const { return watch_; }
  const HostCommunicatorOptions& options() const { return options_; }

  // `run` gives work to the watch's stream by run_nccl() and CUDA's own calls. The tensors stay until it is
  // done.
  Pending start(std::string what, std::vector<device::Tensor> tensors, const std::function<void()>& run);
  // One call of NCCL, or one group.
  void run_nccl(const char* name, const std::function<ncclResult_t(ncclComm_t)>& function);
  void barrier();
  // Calls will use the buffer again and again.
  void announce(const device::Tensor& buffer);
  // Any thread.
  void interrupt() noexcept;
  // See Communicator::tell().
  void tell(const std::string& reason) noexcept;

  // Of the watch: throws what is wrong, after the roll call.
  void look();
  // While the caller waits for the device: whether it waits for other ranks, for those who count that. Cheap.
  void count_wait();
  void end_work() noexcept { handle_.abort(); }
  // Nothing but the destructor follows, and Pending's calls. What somebody waits for is brought to its end,
  // the rest is aborted.
  void close() noexcept;

 private:
  struct Call;
  class Work;

  template <typename Step>
  void attempt(const Step& step);
  void describe();
  bool waits_for_peers() const;
  std::string late(double limit) const;
  std::string ask_nccl() const;
  void go_on();
  void retire();
  // Until NCCL is done with its last call; `limit` is what the error tells.
  void settle(double deadline, double limit);
  std::unique_ptr<device::cuda::Event> place_in_stream();
  void drain();
  void end_handle();
  bool is_done(const Call& call);
  void let_device_wait_for(Call& call);

  std::shared_ptr<Watch> watch_;  // null: closed
  HostCommunicatorOptions options_;
  std::unique_ptr<RollCall> roll_;
  std::atomic<bool> interrupted_{false};
  Handle handle_;
  device::cuda::Event place_;                                 // of the device's stream
  std::vector<std::unique_ptr<device::cuda::Event>> events_;  // idle
  std::optional<WaitCount> counted_;         // while a call waits for peers, and the caller for it
  std::int64_t number_ = 0;                  // of the last call
  std::deque<std::shared_ptr<Call>> calls_;  // that are not known to be done
  double since_ = 0;                         // when the first of them became the first
  std::vector<device::Tensor> announced_;
  std::exception_ptr failure_;  // of what was not done when all was closed
};

}  // namespace lockstep::comm::nccl
