// Communicator on tensors in the host's memory, over any Transport.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>

#include "comm/choice.h"
#include "comm/communicator.h"
#include "comm/host_sum.h"
#include "comm/roll_call.h"
#include "comm/transport.h"

namespace lockstep::comm {

struct HostCommunicatorOptions {
  double limit_seconds = 600;  // for each call, from its beginning
  double start_seconds = 600;  // for a library's ranks to find each other
  double grace_seconds = 5;    // for the others to say where they are, once a rank has given up
  Algorithm algorithm = Algorithm::automatic;  // of sums
  std::function<void()> no_node_memory = {};   // see HostSum; any thread
  // Where a call is not done within the limit: puts what a library reports of its ranks where people find it,
  // and gives the words to add to the error.
  std::function<std::string(const std::string& report)> keep_report = {};
};

class HostCommunicator final : public Communicator {
 public:
  // All ranks make one on the same transport before its first message. A caller who waits is counted in the
  // transport's waits().
  HostCommunicator(std::unique_ptr<Transport> transport, const HostCommunicatorOptions& options);
  // Ends what is still under way as abort() does.
  ~HostCommunicator() override;

  int rank() const override { return transport_->rank(); }
  int size() const override { return transport_->size(); }
  const std::string& host(int rank) const override { return transport_->host(rank); }
  Pending all_reduce(const device::Tensor& data) override;
  Pending reduce_scatter(const device::Tensor& all, const device::Tensor& mine) override;
  Pending all_gather(const device::Tensor& mine, const device::Tensor& all) override;
  Pending broadcast(const device::Tensor& data, int root) override;
  Pending exchange(std::span<const Message> sends, std::span<const Message> receives) override;
  void barrier() override;
  void set_background(bool background) override;
  void abort() noexcept override;
  void tell(const std::string& reason) noexcept override;
  std::unique_ptr<Communicator> duplicate() override;

  // See HostSum. While nothing is under way.
  Choice choice(device::DType dtype, std::size_t bytes) const { return sum_->choice(dtype, bytes); }

 private:
  class Queue;
  void need(bool condition, std::string_view what) const;
  Pending start(std::string what, std::function<void(double deadline)> run);

  HostCommunicatorOptions options_;
  std::unique_ptr<RollCall> transport_;
  std::unique_ptr<HostSum> sum_;
  std::shared_ptr<Queue> queue_;
};

}  // namespace lockstep::comm
