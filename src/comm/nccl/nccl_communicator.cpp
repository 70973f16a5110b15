#include "comm/nccl/nccl_communicator.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "comm/nccl/ras.h"
#include "comm/nccl/sum_in_order.h"
#include "core/error.h"
#include "device/cuda/check.h"

namespace lockstep::comm::nccl {

using device::DType;
using device::Tensor;

// Nearly equal slices, one for each rank: the first ones have one element more.
struct NcclCommunicator::Cut {
  std::int64_t count;
  std::int64_t pieces;

  std::int64_t first(std::int64_t index) const {
    return count / pieces * index + std::min(index, count % pieces);
  }
  std::int64_t size(std::int64_t index) const { return first(index + 1) - first(index); }
};

NcclCommunicator::NcclCommunicator(std::shared_ptr<Watch> watch, std::unique_ptr<Transport> transport,
                                   const HostCommunicatorOptions& options)
    : queue_(std::make_shared<Queue>(std::move(watch), std::move(transport), options)) {
  queue_->meet();
}

NcclCommunicator::~NcclCommunicator() {
  queue_->close();
}

std::function<std::string()> NcclCommunicator::inquiry() const {
  if (ras_address().empty()) return {};
  return [] { return ask_ras(ras_address(), ras_seconds); };
}

std::unique_ptr<Communicator> NcclCommunicator::duplicate() {
  return std::make_unique<NcclCommunicator>(queue_->watch(), queue_->duplicate_transport(),
                                            queue_->options());
}

// A fault in the caller's code.
void NcclCommunicator::need(bool condition, std::string_view what) const {
  if (!condition) throw Error(ExitCode::internal, fmt::format("rank {}: {}", rank(), what));
}

bool NcclCommunicator::is_short(const Tensor& data) const {
  need(data.dtype() == DType::f32 || data.dtype() == DType::bf16 || data.dtype() == DType::f16,
       fmt::format("a sum of {}", name_of(data.dtype())));
  return data.dtype() != DType::f32;
}

void NcclCommunicator::copy(const Tensor& from, const Tensor& to) {
  if (from.data() == to.data() || from.bytes() == 0) return;
  device::cuda::check(
      cudaMemcpyAsync(to.data(), from.data(), from.bytes(), cudaMemcpyDeviceToDevice, stream()),
      "cudaMemcpyAsync");
}

// To other ranks only, and none of them empty.
void NcclCommunicator::send_and_receive(std::span<const Message> sends, std::span<const Message> receives) {
  if (sends.empty() && receives.empty()) return;
  queue_->run_nccl("ncclGroupEnd", [&](ncclComm_t comm) {
    ncclResult_t result = ncclGroupStart();
    const auto add = [&](ncclResult_t added) {
      if (added != ncclSuccess && added != ncclInProgress && result == ncclSuccess) result = added;
    };
    for (const Message& message : sends)
      add(ncclSend(message.data.data(), message.data.bytes(), ncclUint8, message.peer, comm, stream()));
    for (const Message& message : receives)
      add(ncclRecv(message.data.data(), message.data.bytes(), ncclUint8, message.peer, comm, stream()));
    const ncclResult_t ended = ncclGroupEnd();
    return result == ncclSuccess ? ended : result;
  });
}

// Each rank gets the others' terms of its slice in `room`, size() of them, and adds them up.
void NcclCommunicator::sum_slice(const Tensor& all, const Cut& cut, const Tensor& room, const Tensor& sum) {
  const std::int64_t mine = cut.size(rank());
  std::vector<Message> sends, receives;
  for (int peer = 0; peer < size(); ++peer) {
    const Tensor out = all.slice(cut.first(peer), {cut.size(peer)});
    const Tensor in = room.slice(mine * peer, {mine});
    if (peer == rank()) {
      copy(out, in);
    } else {
      if (out.count() > 0) sends.push_back({peer, out});
      if (mine > 0) receives.push_back({peer, in});
    }
  }
  send_and_receive(sends, receives);
  sum_in_order(room, sum, stream());
}

Pending NcclCommunicator::all_reduce(const Tensor& data) {
  const bool is_16_bit = is_short(data);
  if (data.count() == 0) return {};
  std::string what = fmt::format("all-reduce of {} {}", data.count(), name_of(data.dtype()));
  if (!is_16_bit) {
    return queue_->start(std::move(what), {data}, [&] {
      queue_->run_nccl("ncclAllReduce", [&](ncclComm_t comm) {
        return ncclAllReduce(data.data(), data.data(), static_cast<std::size_t>(data.count()), ncclFloat32,
                             ncclSum, comm, stream());
      });
    });
  }
  const Cut cut{data.count(), size()};
  const Tensor room = queue_->watch()->device().empty({cut.size(rank()) * size()}, data.dtype());
  return queue_->start(std::move(what), {data, room}, [&] {
    const Tensor mine = data.slice(cut.first(rank()), {cut.size(rank())});
    sum_slice(data, cut, room, mine);
    std::vector<Message> sends, receives;
    for (int peer = 0; peer < size(); ++peer) {
      if (peer == rank()) continue;
      const Tensor theirs = data.slice(cut.first(peer), {cut.size(peer)});
      if (mine.count() > 0) sends.push_back({peer, mine});
      if (theirs.count() > 0) receives.push_back({peer, theirs});
    }
    send_and_receive(sends, receives);
  });
}

Pending NcclCommunicator::reduce_scatter(const Tensor& all, const Tensor& mine) {
  need(all.dtype() == mine.dtype() && all.count() == mine.count() * size(),
       "a reduce-scatter of unlike tensors");
  const bool is_16_bit = is_short(all);
  if (all.count() == 0) return {};
  std::string what = fmt::format("reduce-scatter of {} {}", all.count(), name_of(all.dtype()));
  if (!is_16_bit) {
    return queue_->start(std::move(what), {all, mine}, [&] {
      queue_->run_nccl("ncclReduceScatter", [&](ncclComm_t comm) {
        return ncclReduceScatter(all.data(), mine.data(), static_cast<std::size_t>(mine.count()), ncclFloat32,
                                 ncclSum, comm, stream());
      });
    });
  }
  const Tensor room = queue_->watch()->device().empty(all.shape(), all.dtype());
  return queue_->start(std::move(what), {all, mine, room}, [&] {
    sum_slice(all, {all.count(), size()}, room, mine);
  });
}

Pending NcclCommunicator::all_gather(const Tensor& mine, const Tensor& all) {
  need(all.dtype() == mine.dtype() && all.count() == mine.count() * size(),
       "an all-gather of unlike tensors");
  if (all.count() == 0) return {};
  return queue_->start(
      fmt::format("all-gather of {} {}", all.count(), name_of(all.dtype())), {mine, all}, [&] {
        queue_->run_nccl("ncclAllGather", [&](ncclComm_t comm) {
          return ncclAllGather(mine.data(), all.data(), mine.bytes(), ncclUint8, comm, stream());
        });
      });
}

Pending NcclCommunicator::broadcast(const Tensor& data, int root) {
  need(root >= 0 && root < size(), "a broadcast from a rank that does not exist");
  if (data.count() == 0) return {};
  return queue_->start(
      fmt::format("broadcast of {} {} from rank {}", data.count(), name_of(data.dtype()), root), {data}, [&] {
        queue_->run_nccl("ncclBroadcast", [&](ncclComm_t comm) {
          return ncclBroadcast(data.data(), data.data(), data.bytes(), ncclUint8, root, comm, stream());
        });
      });
}

Pending NcclCommunicator::exchange(std::span<const Message> sends, std::span<const Message> receives) {
  std::vector<Tensor> tensors;
  std::vector<Message> out, in;
  std::vector<Tensor> to_self, from_self;
  const auto sort = [&](std::span<const Message> list, std::vector<Message>& others,
                        std::vector<Tensor>& own) {
    for (const Message& message : list) {
      need(message.peer >= 0 && message.peer < size(), "a message for a rank that does not exist");
      tensors.push_back(message.data);
      if (message.peer == rank()) {
        own.push_back(message.data);
      } else if (message.data.bytes() > 0) {
        others.push_back(message);
      }
    }
  };
  sort(sends, out, to_self);
  sort(receives, in, from_self);
  need(to_self.size() == from_self.size(), "messages to the rank itself that do not match");
  for (std::size_t i = 0; i < to_self.size(); ++i)
    need(to_self[i].bytes() == from_self[i].bytes(), "a message to the rank itself of another size");
  return queue_->start("exchange of messages", std::move(tensors), [&] {
    for (std::size_t i = 0; i < to_self.size(); ++i) copy(to_self[i], from_self[i]);
    send_and_receive(out, in);
  });
}

}  // namespace lockstep::comm::nccl
