// Collectives and messages. Work of a call is queued on its stream, and goes on in the device's thread.
#include <cstring>
#include <utility>

#include "nccl_comm.h"
#include "stream.h"

namespace fake_gpu::nccl {

namespace {

struct Message {
  ncclComm_t comm;
  cudaStream_t stream;
  int peer;
  bool is_send;
  Call call;
  void* data;
  std::size_t bytes;
};

// What a call has until it is done.
struct Work {
  explicit Work(const Line& line) : exchange(line) {}
  Exchange exchange;
  std::vector<std::vector<std::byte>> rooms;
  std::function<void()> finish = [] {};
};

struct Group {
  bool open = false;
  std::vector<Message> messages;
};

Group& group() {
  thread_local Group mine;
  return mine;
}

std::size_t bytes_of(ncclDataType_t type, std::size_t count, const char* call) {
  if (type == ncclFloat32) return 4 * count;
  if (type == ncclUint8) return count;
  die(std::string(call) + ": type " + std::to_string(type) + " is not on the list");
}

void need_one_stream(ncclComm& comm, cudaStream_t stream, const char* call) {
  if (stream == nullptr) die(std::string(call) + " on the legacy stream");
  if (comm.stream == nullptr) comm.stream = stream;
  if (comm.stream != stream)
    die(std::string(call) + ": a communicator on a second stream is not on the list");
}

std::shared_ptr<ncclComm> enter(ncclComm_t comm, const char* call, cudaStream_t stream) {
  if (group().open) die(std::string(call) + " in a group is not on the list");
  auto found = find_ready(comm, call);
  need_one_stream(*found, stream, call);
  return found;
}

void note(ncclComm& comm, const Fault& fault, const char* call) {
  if (fault.later == ncclSuccess) return;
  comm.last_error = std::string("injected in ") + call;
  comm.error = fault.later;
}

ncclResult_t queue(const std::shared_ptr<ncclComm>& comm, cudaStream_t stream, const char* call,
                   std::vector<Access> accesses, std::shared_ptr<Work> work) {
  const Fault fault = fault_of(call);
  if (fault.at_once != ncclSuccess) {
    comm->last_error = std::string("injected in ") + call;
    return fault.at_once;
  }
  note(*comm, fault, call);
  const bool stall = fault.stall || fault.later != ncclSuccess;
  ++comm->queued;
  return launch(comm, [comm, stream, call, stall, accesses = std::move(accesses), work = std::move(work)] {
    const auto poll = [comm, stall, work]() mutable {
      const std::lock_guard guard(comm->working);
      if (!comm->aborted) {
        if (stall || !work->exchange.poll()) return false;
        work->finish();
      }
      work.reset();
      --comm->queued;
      return true;
    };
    return enqueue(stream, call, accesses, poll) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
  });
}

std::byte* at(void* data, std::size_t offset) {
  return static_cast<std::byte*>(data) + offset;
}
const std::byte* at(const void* data, std::size_t offset) {
  return static_cast<const std::byte*>(data) + offset;
}

// Reads `from`, writes `to`, which may be a part of it or hold it.
std::vector<Access> accesses_of(const void* from, std::size_t from_bytes, void* to, std::size_t to_bytes) {
  const bool apart = at(from, from_bytes) <= to || at(to, to_bytes) <= from;
  return {{from, from_bytes, Access::read}, {to, to_bytes, apart ? Access::write : Access::update}};
}

// Rank r sends `bytes` from `from` + r' * stride to each rank r', and sums what it gets in the ranks' order.
std::shared_ptr<Work> sum_work(const ncclComm& comm, const Call& call, const void* from, std::size_t stride,
                               std::size_t bytes, void* to) {
  auto work = std::make_shared<Work>(comm.line);
  const auto ranks = comm.line.world.size();
  work->rooms.resize(ranks);
  for (std::size_t peer = 0; peer < ranks; ++peer) {
    work->rooms[peer].resize(bytes);
    if (static_cast<int>(peer) == comm.line.rank) continue;
    work->exchange.send(static_cast<int>(peer), call, at(from, peer * stride), bytes);
    work->exchange.receive(static_cast<int>(peer), call, work->rooms[peer].data(), bytes);
  }
  const auto me = static_cast<std::size_t>(comm.line.rank);
  work->finish = [rooms = &work->rooms, mine = at(from, me * stride), me, bytes, to] {
    std::memcpy((*rooms)[me].data(), mine, bytes);
    for (std::size_t i = 0; i < bytes; i += sizeof(float)) {
      float sum = 0;
      for (std::size_t rank = 0; rank < rooms->size(); ++rank) {
        float term = 0;
        std::memcpy(&term, (*rooms)[rank].data() + i, sizeof term);
        sum = rank == 0 ? term : sum + term;
      }
      std::memcpy(at(to, i), &sum, sizeof sum);
    }
  };
  return work;
}

void need_sum(ncclDataType_t type, ncclRedOp_t operation, const char* call) {
  if (type != ncclFloat32) die(std::string(call) + ": only ncclFloat32 is on the list");
  if (operation != ncclSum) die(std::string(call) + ": only ncclSum is on the list");
}

// A message to or from this rank itself is not on the list: the program copies.
ncclResult_t add_message(ncclComm_t comm, bool is_send, void* data, std::size_t count, ncclDataType_t type,
                         int peer, cudaStream_t stream) {
  const char* call = is_send ? "ncclSend" : "ncclRecv";
  if (!group().open) die(std::string(call) + " outside a group is not on the list");
  const auto found = find_ready(comm, call);
  need_one_stream(*found, stream, call);
  if (peer < 0 || peer >= found->line.size()) die(std::string(call) + ": no such rank");
  if (peer == found->line.rank) die(std::string(call) + " with the rank itself is not on the list");
  if (count == 0) die(std::string(call) + " of nothing is not on the list");
  auto& numbers = is_send ? found->sent : found->received;
  const std::int64_t number = ++numbers[static_cast<std::size_t>(peer)];
  group().messages.push_back({comm, stream, peer, is_send, make_call(number, "message", count, type, 0), data,
                              bytes_of(type, count, call)});
  return ncclSuccess;
}

}  // namespace

void need_no_open_group(const char* call) {
  if (group().open) die(std::string(call) + " in a group: ncclGroupEnd is missing");
}

}  // namespace fake_gpu::nccl

using namespace fake_gpu::nccl;
using fake_gpu::Access;
using fake_gpu::die;

ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream) {
  const auto found = enter(comm, "ncclAllReduce", stream);
  need_sum(type, operation, "ncclAllReduce");
  const Call call = make_call(++found->collectives, "ncclAllReduce", count, type, operation);
  const std::size_t bytes = bytes_of(type, count, "ncclAllReduce");
  return queue(found, stream, "ncclAllReduce", accesses_of(from, bytes, to, bytes),
               sum_work(*found, call, from, 0, bytes, to));
}

ncclResult_t ncclReduceScatter(const void* from, void* to, std::size_t count, ncclDataType_t type,
                               ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream) {
  const auto found = enter(comm, "ncclReduceScatter", stream);
  need_sum(type, operation, "ncclReduceScatter");
  const Call call = make_call(++found->collectives, "ncclReduceScatter", count, type, operation);
  const std::size_t bytes = bytes_of(type, count, "ncclReduceScatter");
  const std::size_t all = bytes * static_cast<std::size_t>(found->line.size());
  return queue(found, stream, "ncclReduceScatter", accesses_of(from, all, to, bytes),
               sum_work(*found, call, from, bytes, bytes, to));
}

ncclResult_t ncclAllGather(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  const auto found = enter(comm, "ncclAllGather", stream);
  const Call call = make_call(++found->collectives, "ncclAllGather", count, type, 0);
  const std::size_t bytes = bytes_of(type, count, "ncclAllGather");
  auto work = std::make_shared<Work>(found->line);
  for (int peer = 0; peer < found->line.size(); ++peer) {
    if (peer == found->line.rank) continue;
    work->exchange.send(peer, call, from, bytes);
    work->exchange.receive(peer, call, at(to, static_cast<std::size_t>(peer) * bytes), bytes);
  }
  auto* mine = at(to, static_cast<std::size_t>(found->line.rank) * bytes);
  work->finish = [=] {
    if (mine != from) std::memcpy(mine, from, bytes);
  };
  return queue(found, stream, "ncclAllGather",
               accesses_of(from, bytes, to, bytes * static_cast<std::size_t>(found->line.size())), work);
}

ncclResult_t ncclBroadcast(const void* from, void* to, std::size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  const auto found = enter(comm, "ncclBroadcast", stream);
  if (root < 0 || root >= found->line.size()) die("ncclBroadcast: no such root");
  if (from != to) die("ncclBroadcast: only in place is on the list");
  const Call call = make_call(++found->collectives, "ncclBroadcast", count, type, root);
  const std::size_t bytes = bytes_of(type, count, "ncclBroadcast");
  const bool is_root = found->line.rank == root;
  auto work = std::make_shared<Work>(found->line);
  for (int peer = 0; peer < found->line.size(); ++peer) {
    if (peer == found->line.rank) continue;
    work->exchange.send(peer, call, from, is_root ? bytes : 0);
    work->exchange.receive(peer, call, to, peer == root ? bytes : 0);
  }
  return queue(found, stream, "ncclBroadcast", {{to, bytes, is_root ? Access::read : Access::write}}, work);
}

ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return add_message(comm, true, const_cast<void*>(from), count, type, peer, stream);
}

ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return add_message(comm, false, to, count, type, peer, stream);
}

ncclResult_t ncclGroupStart() {
  if (std::exchange(group().open, true)) die("ncclGroupStart in a group is not on the list");
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (!std::exchange(group().open, false)) die("ncclGroupEnd without ncclGroupStart");
  const std::vector<Message> messages = std::exchange(group().messages, {});
  if (messages.empty()) return ncclSuccess;
  const auto comm = find_ready(messages.front().comm, "ncclGroupEnd");
  auto work = std::make_shared<Work>(comm->line);
  std::vector<Access> accesses;
  for (const Message& message : messages) {
    if (message.comm != messages.front().comm) die("a group of two communicators is not on the list");
    accesses.push_back({message.data, message.bytes, message.is_send ? Access::read : Access::write});
    if (message.is_send) {
      work->exchange.send(message.peer, message.call, message.data, message.bytes);
    } else {
      work->exchange.receive(message.peer, message.call, message.data, message.bytes);
    }
  }
  return queue(comm, messages.front().stream, "ncclGroupEnd", std::move(accesses), work);
}
