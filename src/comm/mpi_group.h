// Group over MPI, on the host's memory.
#pragma once

#include <mpi.h>

#include <atomic>
#include <memory>

#include "comm/group.h"

namespace lockstep::comm {

class MpiGroup final : public Group {
 public:
  // Duplicates `parent`, so that its messages meet nobody else's; collective. `piece` is the number of
  // elements per MPI call: longer data are moved in several (MPI counts are 32-bit).
  explicit MpiGroup(MPI_Comm parent, std::int64_t piece = std::int64_t{1} << 28);
  // Frees the duplicate, unless an exception is passing: an error path makes no MPI call that a peer could
  // have to answer.
  ~MpiGroup() override;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  const std::string& host(int rank) const override { return hosts_[static_cast<std::size_t>(rank)]; }
  void barrier() override;
  void broadcast(std::span<std::byte> data, int root) override;
  void all_reduce_sum(std::span<float> data) override;
  void all_reduce_sum(std::span<double> data) override;
  void all_reduce_sum(std::span<std::int64_t> data) override;
  void all_reduce_min(std::span<std::int64_t> data) override;
  void all_reduce_max(std::span<std::int64_t> data) override;
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override;
  void all_gather_slices(std::span<float> all, std::span<const std::int64_t> counts) override;
  void exchange(std::span<const Send> sends, std::span<const Receive> receives) override;
  std::unique_ptr<Group> duplicate() override;
  // The same ranks in another order: rank i of the result is rank order[i] here. Collective; `order` is the
  // same permutation on every rank.
  std::unique_ptr<MpiGroup> reordered(std::span<const int> order) const;

  // The number of calls that wait for peers just now: in this communicator, in those made from it, and in
  // those that were told to count here. For a watcher in another thread.
  std::shared_ptr<const std::atomic<int>> waits() const { return waits_; }
  void count_waits_with(const MpiGroup& other) { waits_ = other.waits_; }
  // For what waits outside this class for the same peers.
  std::shared_ptr<std::atomic<int>> shared_waits() const { return waits_; }

  // For libraries that speak MPI themselves, such as HDF5.
  MPI_Comm native() const { return comm_; }

 private:
  void check(int status, std::string_view what) const;
  template <typename T>
  void all_reduce(std::span<T> data, MPI_Datatype type, MPI_Op op);

  MPI_Comm comm_ = MPI_COMM_NULL;
  std::int64_t piece_;
  int rank_ = 0;
  int size_ = 1;
  std::vector<std::string> hosts_;
  std::shared_ptr<std::atomic<int>> waits_ = std::make_shared<std::atomic<int>>(0);
};

}  // namespace lockstep::comm
