// Collectives on more than 2^31 bytes, whose results are known bit for bit. All ranks make the same calls; a
// wrong result throws.
#pragma once

#include "collective_checks.h"
#include "comm/choice.h"
#include "doctor/machine.h"

namespace large_sums {

using collective_checks::Communicator;
using collective_checks::DType;
using collective_checks::exact_value;
using collective_checks::make_tensor;
using collective_checks::Shape;
using collective_checks::Tensor;
using lockstep::comm::Algorithm;

// The least number of elements for each of so many ranks that makes more than 2^31 bytes together.
inline std::int64_t count_per_rank(DType dtype, int ranks) {
  return (std::int64_t{1} << 31) / static_cast<std::int64_t>(lockstep::device::size_of(dtype)) / ranks + 1;
}

// Whether the machine has the memory for it, all ranks being on it.
inline bool has_memory(Algorithm algorithm, int ranks) {
  constexpr std::int64_t gib = std::int64_t{1} << 30;
  const int copies = algorithm == Algorithm::doubling ? 2 : 1;
  // Each other way needs some MiB, and the halves of a round of doubling are as large as the data.
  return lockstep::doctor::machine_memory().available > ranks * (2 * copies * gib + gib / 2);
}

// The bytes of many elements, exact in every type and order: element i depends on i % period alone.
class Pattern {
 public:
  static constexpr std::int64_t period = 17;  // that of exact_value()

  // Of one rank, or the sum over ranks 0 to `last`.
  Pattern(DType dtype, int first, int last) : element_(lockstep::device::size_of(dtype)) {
    const Tensor block = make_tensor(repeats * period, dtype);
    for (std::int64_t i = 0; i < block.count(); ++i) {
      double sum = 0;
      for (int rank = first; rank <= last; ++rank) sum += exact_value(i, rank);
      collective_checks::set(block, i, sum);
    }
    const auto* bytes = static_cast<const std::byte*>(block.data());
    bytes_.assign(bytes, bytes + block.bytes());
  }

  // `at`: which element of the whole the tensor begins with.
  void fill(const Tensor& tensor, std::int64_t at) const {
    each_block(tensor, at, [](std::byte* to, const std::byte* from, std::size_t bytes) {
      std::memcpy(to, from, bytes);
      return true;
    });
  }
  void need_in(const Tensor& tensor, std::int64_t at, const std::string& what) const {
    const bool equal = each_block(tensor, at, [](std::byte* to, const std::byte* from, std::size_t bytes) {
      return std::memcmp(to, from, bytes) == 0;
    });
    need(equal, what);
  }

 private:
  static constexpr std::int64_t repeats = 4096;

  template <typename Work>
  bool each_block(const Tensor& tensor, std::int64_t at, const Work& work) const {
    auto* const bytes = static_cast<std::byte*>(tensor.data());
    const std::size_t skipped = static_cast<std::size_t>(at % period) * element_;
    const std::size_t most = bytes_.size() - static_cast<std::size_t>(period) * element_;
    for (std::size_t done = 0; done < tensor.bytes(); done += most) {
      if (!work(bytes + done, bytes_.data() + skipped, std::min(most, tensor.bytes() - done))) return false;
    }
    return true;
  }

  std::size_t element_;
  std::vector<std::byte> bytes_;
};

inline void check(Communicator& comm, DType dtype) {
  const int me = comm.rank();
  const std::string what = " of more than 2^31 bytes of " + std::string(name_of(dtype));
  const std::int64_t count = count_per_rank(dtype, comm.size());
  const Tensor all = make_tensor(count * comm.size(), dtype, 8);
  const Tensor mine = all.slice(count * me, Shape{count});
  const Pattern terms(dtype, me, me);
  const Pattern sums(dtype, 0, comm.size() - 1);

  terms.fill(all, 0);
  comm.all_reduce(all).wait();
  sums.need_in(all, 0, "an all-reduce" + what);
  terms.fill(all, 0);
  comm.reduce_scatter(all, mine).wait();
  sums.need_in(mine, count * me, "a reduce-scatter" + what);
  comm.all_gather(mine, all).wait();
  sums.need_in(all, 0, "an all-gather" + what);
  collective_checks::need_spare_untouched(all, "a collective" + what);
}

}  // namespace large_sums
