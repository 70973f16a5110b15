// Communicator on tensors in CUDA memory, by NCCL.
//
// Sums of f32 are NCCL's own: the order of the additions is its choice, the same for the same ranks, places
// and library. Sums of 16-bit values are made here of messages and one pass that adds in f32, in the order of
// the ranks: NCCL would round to 16 bits after each addition. As much travels as in NCCL's ring.
//
// Calls happen behind what the device was given before, on a stream of their own; wait() lets the device's
// stream wait, and never the caller. All communicators of a device share the stream, so that all ranks'
// kernels come in the order of the calls: those must come in one order on all ranks, over all communicators.
// A failure shows in wait(), in any later call, and where the caller waits for the device; it ends the work
// of all of them. Nothing of NCCL is set up but that its calls do not block: the rest is the environment's.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "comm/communicator.h"
#include "comm/nccl/nccl_queue.h"

namespace lockstep::comm::nccl {

class NcclCommunicator final : public Communicator {
 public:
  // Of the options, `algorithm` and `no_node_memory` have no meaning here. Collective.
  NcclCommunicator(std::shared_ptr<Watch> watch, std::unique_ptr<Transport> transport,
                   const HostCommunicatorOptions& options);
  ~NcclCommunicator() override;

  int rank() const override { return queue_->ranks().rank(); }
  int size() const override { return queue_->ranks().size(); }
  const std::string& host(int rank) const override { return queue_->ranks().host(rank); }
  Pending all_reduce(const device::Tensor& data) override;
  Pending reduce_scatter(const device::Tensor& all, const device::Tensor& mine) override;
  Pending all_gather(const device::Tensor& mine, const device::Tensor& all) override;
  Pending broadcast(const device::Tensor& data, int root) override;
  Pending exchange(std::span<const Message> sends, std::span<const Message> receives) override;
  // The device's work before it is done as well.
  void barrier() override { queue_->barrier(); }
  void set_background(bool /*background*/) override {}
  void announce(const device::Tensor& buffer) override { queue_->announce(buffer); }
  // What is under way ends when the calling thread comes next, or waits for the device.
  void abort() noexcept override { queue_->interrupt(); }
  void tell(const std::string& reason) noexcept override { queue_->tell(reason); }
  std::function<std::string()> inquiry() const override;
  std::unique_ptr<Communicator> duplicate() override;

 private:
  struct Cut;

  void need(bool condition, std::string_view what) const;
  // Whether a sum is one of 16-bit values.
  bool is_short(const device::Tensor& data) const;
  cudaStream_t stream() const { return queue_->watch()->stream().get(); }
  void copy(const device::Tensor& from, const device::Tensor& to);
  void send_and_receive(std::span<const Message> sends, std::span<const Message> receives);
  void sum_slice(const device::Tensor& all, const Cut& cut, const device::Tensor& room,
                 const device::Tensor& sum);

  std::shared_ptr<Queue> queue_;
};

}  // namespace lockstep::comm::nccl
