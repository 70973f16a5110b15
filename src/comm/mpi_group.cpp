#include "comm/mpi_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "core/error.h"
#include "slurm/allocation.h"

namespace lockstep::comm {

namespace {

// Under Slurm the node's name there: that is the name that its users know.
std::string host_name() {
  return slurm::read_allocation(slurm::process_environment()).node;
}

// Counts as one wait while it lives.
class Wait {
 public:
  explicit Wait(std::atomic<int>& waits) : waits_(waits) { ++waits_; }
  ~Wait() { --waits_; }
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;

 private:
  std::atomic<int>& waits_;
};

}  // namespace

MpiGroup::MpiGroup(MPI_Comm parent, std::int64_t piece) : piece_(piece) {
  if (MPI_Comm_dup(parent, &comm_) != MPI_SUCCESS) {
    throw Error(ExitCode::peer_failed, "cannot duplicate an MPI communicator: did a rank end early?");
  }
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &size_);
  hosts_ = gather_texts(*this, host_name());
}

MpiGroup::~MpiGroup() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized == 0 && std::uncaught_exceptions() == 0) MPI_Comm_free(&comm_);
}

void MpiGroup::check(int status, std::string_view what) const {
  if (status == MPI_SUCCESS) return;
  std::string text(MPI_MAX_ERROR_STRING, '\0');
  int length = 0;
  MPI_Error_string(status, text.data(), &length);
  text.resize(static_cast<std::size_t>(length));
  throw Error(ExitCode::peer_failed,
              fmt::format("rank {} on {} of {}: MPI cannot {}: {}", rank_,
                          hosts_.empty() ? host_name() : host(rank_), size_, what, text));
}

void MpiGroup::barrier() {
  const Wait wait(*waits_);
  check(MPI_Barrier(comm_), "reach a barrier");
}

void MpiGroup::broadcast(std::span<std::byte> data, int root) {
  const Wait wait(*waits_);
  while (!data.empty()) {
    const auto part = data.first(std::min(data.size(), static_cast<std::size_t>(piece_)));
    check(MPI_Bcast(part.data(), static_cast<int>(part.size()), MPI_BYTE, root, comm_), "broadcast");
    data = data.subspan(part.size());
  }
}

template <typename T>
void MpiGroup::all_reduce(std::span<T> data, MPI_Datatype type, MPI_Op op) {
  if (size_ == 1) return;
  const Wait wait(*waits_);
  while (!data.empty()) {
    const auto part = data.first(std::min(data.size(), static_cast<std::size_t>(piece_)));
    check(MPI_Allreduce(MPI_IN_PLACE, part.data(), static_cast<int>(part.size()), type, op, comm_),
          "all-reduce");
    data = data.subspan(part.size());
  }
}

void MpiGroup::all_reduce_sum(std::span<float> data) {
  all_reduce(data, MPI_FLOAT, MPI_SUM);
}

void MpiGroup::all_reduce_sum(std::span<double> data) {
  all_reduce(data, MPI_DOUBLE, MPI_SUM);
}

void MpiGroup::all_reduce_sum(std::span<std::int64_t> data) {
  all_reduce(data, MPI_INT64_T, MPI_SUM);
}

void MpiGroup::all_reduce_min(std::span<std::int64_t> data) {
  all_reduce(data, MPI_INT64_T, MPI_MIN);
}

void MpiGroup::all_reduce_max(std::span<std::int64_t> data) {
  all_reduce(data, MPI_INT64_T, MPI_MAX);
}

void MpiGroup::all_gather(std::span<const std::byte> mine, std::span<std::byte> all) {
  const Wait wait(*waits_);
  if (static_cast<std::int64_t>(all.size()) <= piece_) {
    const int count = static_cast<int>(mine.size());
    check(MPI_Allgather(mine.data(), count, MPI_BYTE, all.data(), count, MPI_BYTE, comm_), "all-gather");
    return;
  }
  std::copy(mine.begin(), mine.end(),
            all.subspan(mine.size() * static_cast<std::size_t>(rank_), mine.size()).begin());
  for (int root = 0; root < size_; ++root) {
    broadcast(all.subspan(mine.size() * static_cast<std::size_t>(root), mine.size()), root);
  }
}

void MpiGroup::all_gather_slices(std::span<float> all, std::span<const std::int64_t> counts) {
  if (size_ == 1) return;
  const Wait wait(*waits_);
  if (static_cast<std::int64_t>(all.size()) <= piece_) {
    std::vector<int> lengths(counts.begin(), counts.end());
    std::vector<int> offsets(lengths.size());
    for (std::size_t r = 1; r < lengths.size(); ++r) offsets[r] = offsets[r - 1] + lengths[r - 1];
    check(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.data(), lengths.data(), offsets.data(),
                         MPI_FLOAT, comm_),
          "all-gather slices");
    return;
  }
  std::size_t offset = 0;
  for (int root = 0; root < size_; ++root) {
    const auto count = static_cast<std::size_t>(counts[static_cast<std::size_t>(root)]);
    broadcast(std::as_writable_bytes(all.subspan(offset, count)), root);
    offset += count;
  }
}

void MpiGroup::exchange(std::span<const Send> sends, std::span<const Receive> receives) {
  const Wait wait(*waits_);
  std::vector<MPI_Request> requests;
  const auto in_pieces = [&](auto data, const auto& start) {
    while (!data.empty()) {
      const auto part = data.first(std::min(data.size(), static_cast<std::size_t>(piece_)));
      start(part, requests.emplace_back(MPI_REQUEST_NULL));
      data = data.subspan(part.size());
    }
  };
  constexpr int tag = 1;
  for (const Receive& message : receives) {
    in_pieces(message.data, [&](auto part, MPI_Request& request) {
      check(
          MPI_Irecv(part.data(), static_cast<int>(part.size()), MPI_BYTE, message.peer, tag, comm_, &request),
          "start a receive");
    });
  }
  for (const Send& message : sends) {
    in_pieces(message.data, [&](auto part, MPI_Request& request) {
      check(
          MPI_Isend(part.data(), static_cast<int>(part.size()), MPI_BYTE, message.peer, tag, comm_, &request),
          "start a send");
    });
  }
  check(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE), "exchange");
}

std::unique_ptr<Group> MpiGroup::duplicate() {
  auto result = std::make_unique<MpiGroup>(comm_, piece_);
  result->count_waits_with(*this);
  return result;
}

std::unique_ptr<MpiGroup> MpiGroup::reordered(std::span<const int> order) const {
  const auto own_place = std::find(order.begin(), order.end(), rank_) - order.begin();
  MPI_Comm in_order = MPI_COMM_NULL;
  check(MPI_Comm_split(comm_, 0, static_cast<int>(own_place), &in_order), "reorder its ranks");
  auto result = std::make_unique<MpiGroup>(in_order, piece_);
  MPI_Comm_free(&in_order);
  result->count_waits_with(*this);
  return result;
}

}  // namespace lockstep::comm
