#include "nccl_exchange.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "stream.h"

namespace fake_gpu::nccl {

namespace {

MPI_Request no_request() {
  return MPI_REQUEST_NULL;
}

bool mpi_is_there() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  return finalized == 0;
}

bool is_done(MPI_Request& request) {
  int done = 0;
  MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  return done != 0;
}

MPI_Request start_send(const void* data, std::size_t bytes, int to, int tag) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, to, tag, MPI_COMM_WORLD, &request);
  return request;
}

MPI_Request start_receive(void* data, std::size_t bytes, int from, int tag) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, from, tag, MPI_COMM_WORLD, &request);
  return request;
}

}  // namespace

Call make_call(std::int64_t number, const std::string& kind, std::size_t count, int type, int other) {
  Call call;
  call.number = number;
  kind.copy(call.kind.data(), call.kind.size() - 1);
  call.count = count;
  call.type = type;
  call.other = other;
  return call;
}

std::string text_of(const Call& call) {
  return "call " + std::to_string(call.number) + ", " + call.kind.data() + " of " +
         std::to_string(call.count) + " of type " + std::to_string(call.type) + " (" +
         std::to_string(call.other) + ")";
}

Call make_parting(std::int64_t number) {
  return make_call(number, "ncclCommFinalize", 0, 0, 0);
}

bool is_parting(const Call& call) {
  return call.kind == make_parting(0).kind;
}

struct Exchange::Out {
  int peer;
  Call call;
  const void* data;
  std::vector<std::byte> copy;
  MPI_Request header = no_request();
  MPI_Request payload = no_request();
};

struct Exchange::In {
  Call expected;
  void* data;
  std::vector<std::byte> copy;
  Call came{};
  bool has_header = false;
  MPI_Request request = no_request();
};

Exchange::Exchange(Line line) : line_(std::move(line)), in_(line_.world.size()) {}

Exchange::~Exchange() {
  const bool mpi = mpi_is_there();
  const auto is_open = [](const Out& out) {
    return out.header != MPI_REQUEST_NULL || out.payload != MPI_REQUEST_NULL;
  };
  bool open = std::any_of(out_.begin(), out_.end(), is_open);
  for (auto& from_one : in_) {
    for (In& in : from_one) {
      if (in.request == MPI_REQUEST_NULL) continue;
      if (mpi) MPI_Cancel(&in.request);
      open = true;
    }
  }
  if (!open) return;
  static std::deque<std::pair<std::deque<Out>, std::vector<std::deque<In>>>>* const kept =
      new std::deque<std::pair<std::deque<Out>, std::vector<std::deque<In>>>>;
  kept->emplace_back(std::move(out_), std::move(in_));
}

void Exchange::send(int peer, const Call& call, const void* data, std::size_t bytes) {
  out_.push_back({peer, call, data, std::vector<std::byte>(bytes)});
}

void Exchange::receive(int peer, const Call& call, void* data, std::size_t bytes) {
  in_.at(static_cast<std::size_t>(peer)).push_back({call, data, std::vector<std::byte>(bytes)});
}

void Exchange::start() {
  for (Out& out : out_) {
    const int to = line_.world[static_cast<std::size_t>(out.peer)];
    out.header = start_send(&out.call, sizeof out.call, to, line_.tag);
    if (out.copy.empty()) continue;
    std::memcpy(out.copy.data(), out.data, out.copy.size());
    out.payload = start_send(out.copy.data(), out.copy.size(), to, line_.tag);
  }
}

// Whether the first of the messages from this rank is there. One at a time: they all have one tag.
bool Exchange::receive_next(std::deque<In>& from_one) {
  In& in = from_one.front();
  const auto peer = static_cast<int>(&from_one - in_.data());
  const int from = line_.world[static_cast<std::size_t>(peer)];
  if (!in.has_header) {
    if (in.request == MPI_REQUEST_NULL) in.request = start_receive(&in.came, sizeof in.came, from, line_.tag);
    if (!is_done(in.request)) return false;
    in.has_header = true;
    if (std::memcmp(&in.came, &in.expected, sizeof in.came) != 0) {
      std::string error;
      mismatch_ = is_parting(in.came) != is_parting(in.expected) || fault_due("ncclMismatch", error);
      if (!mismatch_) {
        die("NCCL calls that do not match: rank " + std::to_string(line_.rank) + " makes " +
            text_of(in.expected) + "; rank " + std::to_string(peer) + " makes " + text_of(in.came));
      }
      return false;
    }
    if (!in.copy.empty()) in.request = start_receive(in.copy.data(), in.copy.size(), from, line_.tag);
  }
  if (!is_done(in.request)) return false;
  if (!in.copy.empty()) std::memcpy(in.data, in.copy.data(), in.copy.size());
  return true;
}

bool Exchange::poll() {
  if (!mpi_is_there()) return false;
  if (!std::exchange(started_, true)) start();
  bool done = true;
  for (auto& from_one : in_) {
    while (!mismatch_ && !from_one.empty() && receive_next(from_one)) from_one.pop_front();
    done = done && from_one.empty();
  }
  for (Out& out : out_) done = is_done(out.header) && is_done(out.payload) && done;
  return done && !mismatch_;
}

}  // namespace fake_gpu::nccl
