// A communicator on the GPU for tensors in the host's memory, so that what tests communicators on the host
// tests this one as well: tensors go to the GPU before a call, and come back when somebody waits for it.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "comm/communicator.h"
#include "device/cuda/check.h"
#include "device/cuda/cuda_device.h"

class StagedCommunicator final : public lockstep::comm::Communicator {
 public:
  using Tensor = lockstep::device::Tensor;
  using Pending = lockstep::comm::Pending;

  StagedCommunicator(std::unique_ptr<Communicator> inner, lockstep::device::CudaDevice& device)
      : inner_(std::move(inner)), device_(device) {}

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  const std::string& host(int rank) const override { return inner_->host(rank); }
  Pending all_reduce(const Tensor& data) override {
    const Tensor there = up(data);
    return down(inner_->all_reduce(there), {{there, data}});
  }
  Pending reduce_scatter(const Tensor& all, const Tensor& mine) override {
    const Tensor there = up(all);
    const Tensor part = part_or_new(there, all, mine);
    return down(inner_->reduce_scatter(there, part), {{part, mine}});
  }
  Pending all_gather(const Tensor& mine, const Tensor& all) override {
    const Tensor there = up(all);
    const Tensor part = part_or_new(there, all, mine);
    copy(mine.data(), part.data(), mine.bytes(), cudaMemcpyHostToDevice);
    return down(inner_->all_gather(part, there), {{there, all}});
  }
  Pending broadcast(const Tensor& data, int root) override {
    const Tensor there = up(data);
    return down(inner_->broadcast(there, root), {{there, data}});
  }
  Pending exchange(std::span<const Message> sends, std::span<const Message> receives) override {
    std::vector<Message> out, in;
    std::vector<std::pair<Tensor, Tensor>> back;
    for (const Message& message : sends) out.push_back({message.peer, up(message.data)});
    for (const Message& message : receives) {
      in.push_back({message.peer, up(message.data)});
      back.emplace_back(in.back().data, message.data);
    }
    return down(inner_->exchange(out, in), std::move(back));
  }
  void barrier() override { inner_->barrier(); }
  void set_background(bool background) override { inner_->set_background(background); }
  void abort() noexcept override { inner_->abort(); }
  void tell(const std::string& reason) noexcept override { inner_->tell(reason); }
  std::unique_ptr<Communicator> duplicate() override {
    return std::make_unique<StagedCommunicator>(inner_->duplicate(), device_);
  }

 private:
  class Work final : public Pending::Work {
   public:
    Work(Pending inner, std::function<void()> finish)
        : inner_(std::move(inner)), finish_(std::move(finish)) {}
    bool done() override {
      if (finish_ && inner_.done()) wait();
      return !finish_;
    }
    void wait() override {
      inner_.wait();
      if (finish_) std::exchange(finish_, nullptr)();
    }

   private:
    Pending inner_;
    std::function<void()> finish_;
  };

  void copy(const void* from, void* to, std::size_t bytes, cudaMemcpyKind kind) {
    lockstep::device::cuda::check(cudaMemcpyAsync(to, from, bytes, kind, device_.stream()), "a test's copy");
  }
  Tensor up(const Tensor& host) {
    const Tensor there = device_.empty(host.shape(), host.dtype());
    copy(host.data(), there.data(), host.bytes(), cudaMemcpyHostToDevice);
    return there;
  }
  // `mine` may lie in `all`: then its twin lies there too.
  Tensor part_or_new(const Tensor& there, const Tensor& all, const Tensor& mine) {
    const auto* begin = static_cast<const std::byte*>(all.data());
    const auto* at = static_cast<const std::byte*>(mine.data());
    if (at < begin || at + mine.bytes() > begin + all.bytes()) return up(mine);
    const auto size = static_cast<std::ptrdiff_t>(size_of(all.dtype()));
    return there.slice((at - begin) / size, mine.shape());
  }
  Pending down(Pending call, std::vector<std::pair<Tensor, Tensor>> tensors) {
    return Pending(std::make_shared<Work>(std::move(call), [this, tensors = std::move(tensors)] {
      device_.synchronise();
      for (const auto& [there, host] : tensors)
        copy(there.data(), host.data(), host.bytes(), cudaMemcpyDeviceToHost);
      device_.synchronise();
    }));
  }

  std::unique_ptr<Communicator> inner_;
  lockstep::device::CudaDevice& device_;
};
