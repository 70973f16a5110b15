// Every collective of a Communicator against results that are known, on whatever ranks it has. All ranks make
// the same calls; a wrong result throws.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "ranks.h"

namespace collective_checks {

using lockstep::comm::Communicator;
using lockstep::device::DType;
using lockstep::device::Shape;
using lockstep::device::Tensor;

// Shapes of the floating-point types.
struct Format {
  int fraction_bits;
  int lowest_exponent;  // of normal numbers
  int size;             // bytes
};

inline Format format_of(DType dtype) {
  if (dtype == DType::bf16) return {7, -126, 2};
  if (dtype == DType::f16) return {10, -14, 2};
  return {23, -126, 4};
}

// To the nearest value of the type, ties to even; finite values within its range only.
inline double rounded(double value, DType dtype) {
  const Format format = format_of(dtype);
  if (value == 0) return 0;
  const double unit =
      std::ldexp(1., std::max(std::ilogb(value), format.lowest_exponent) - format.fraction_bits);
  return std::nearbyint(value / unit) * unit;
}

inline std::uint32_t bits_of(double value, DType dtype) {
  const Format format = format_of(dtype);
  const int sign_at = 8 * format.size - 1;
  const std::uint32_t sign = std::signbit(value) ? 1u << sign_at : 0u;
  const double size = std::abs(rounded(value, dtype));
  if (size == 0) return sign;
  const int exponent = std::max(std::ilogb(size), format.lowest_exponent);
  const auto digits = static_cast<std::uint32_t>(std::ldexp(size, format.fraction_bits - exponent));
  const auto biased = static_cast<std::uint32_t>(exponent - format.lowest_exponent);
  return sign | ((biased << format.fraction_bits) + digits);
}

inline double value_of(std::uint32_t bits, DType dtype) {
  const Format format = format_of(dtype);
  const std::uint32_t size = bits & ((1u << (8 * format.size - 1)) - 1);
  const auto biased = static_cast<int>(size >> format.fraction_bits);
  const std::uint32_t fraction = size & ((1u << format.fraction_bits) - 1);
  const std::uint32_t leading = biased > 0 ? 1u << format.fraction_bits : 0u;
  const double value = std::ldexp(static_cast<double>(leading + fraction),
                                  std::max(biased - 1, 0) + format.lowest_exponent - format.fraction_bits);
  return size == bits ? value : -value;
}

// `spare` elements follow, which nobody may write to.
inline Tensor make_tensor(std::int64_t count, DType dtype, std::int64_t spare = 0) {
  const std::size_t bytes = static_cast<std::size_t>(count + spare) * lockstep::device::size_of(dtype);
  auto memory = std::make_shared<std::vector<std::byte>>(bytes + 1, std::byte{0x5a});
  const std::shared_ptr<void> storage(memory, memory->data());
  return {storage, 0, Shape{count}, dtype};
}

inline double get(const Tensor& tensor, std::int64_t i) {
  const std::size_t size = lockstep::device::size_of(tensor.dtype());
  std::uint32_t bits = 0;
  std::memcpy(&bits, static_cast<std::byte*>(tensor.data()) + static_cast<std::size_t>(i) * size, size);
  return value_of(bits, tensor.dtype());
}

inline void set(const Tensor& tensor, std::int64_t i, double value) {
  const std::size_t size = lockstep::device::size_of(tensor.dtype());
  const std::uint32_t bits = bits_of(value, tensor.dtype());
  std::memcpy(static_cast<std::byte*>(tensor.data()) + static_cast<std::size_t>(i) * size, &bits, size);
}

// Element i of rank r. Integers whose sums over up to 16 ranks are exact in every type and order.
inline double exact_value(std::int64_t i, int rank) {
  return static_cast<double>((i * 7 + rank * 5) % 17 - 8);
}

// Any value: sums are rounded.
inline double rough_value(std::int64_t i, int rank) {
  return std::sin(static_cast<double>(i) * 0.7 + rank) * (1 + rank);
}

inline Tensor filled(std::int64_t count, DType dtype, int rank, double (*value)(std::int64_t, int)) {
  const Tensor tensor = make_tensor(count, dtype, 8);
  for (std::int64_t i = 0; i < count; ++i) set(tensor, i, value(i, rank));
  return tensor;
}

inline void need_spare_untouched(const Tensor& tensor, const std::string& what) {
  const auto* end = static_cast<const std::byte*>(tensor.data()) + tensor.bytes();
  for (int i = 0; i < 8; ++i) need(end[i] == std::byte{0x5a}, what + " writes past the end");
}

// Elements [first, first + data.count()) of the sum over the ranks.
inline void need_sum(const Tensor& data, std::int64_t first, int size, double (*value)(std::int64_t, int),
                     const std::string& what) {
  const DType dtype = data.dtype();
  for (std::int64_t i = 0; i < data.count(); ++i) {
    double sum = 0, magnitude = 0;
    for (int rank = 0; rank < size; ++rank) {
      const double term = rounded(value(first + i, rank), dtype);
      sum += term;
      magnitude += std::abs(term);
    }
    // One rounding for each f32 addition, and one to the type at the end.
    const double wanted = rounded(sum, dtype);
    const double slack =
        std::ldexp(magnitude, -24) * size + std::ldexp(std::abs(sum), -format_of(dtype).fraction_bits);
    const double off = std::abs(get(data, i) - wanted);
    if (!(off <= (value == exact_value ? 0. : slack))) {
      throw std::runtime_error("wrong: " + what + ", element " + std::to_string(first + i) + ": " +
                               std::to_string(get(data, i)) + " for " + std::to_string(wanted));
    }
  }
}

// The same bits on every rank.
inline void need_same_everywhere(Communicator& comm, const Tensor& data, const std::string& what) {
  const Tensor all = make_tensor(static_cast<std::int64_t>(data.bytes()) * comm.size(), DType::u8);
  const Tensor mine = make_tensor(static_cast<std::int64_t>(data.bytes()), DType::u8);
  if (data.bytes() > 0) std::memcpy(mine.data(), data.data(), data.bytes());
  comm.all_gather(mine, all).wait();
  for (int rank = 0; rank < comm.size(); ++rank) {
    const auto* theirs =
        static_cast<const std::byte*>(all.data()) + static_cast<std::size_t>(rank) * data.bytes();
    need(std::memcmp(theirs, mine.data(), data.bytes()) == 0, what + " differs between the ranks");
  }
}

inline void check_all_reduce(Communicator& comm, DType dtype, std::int64_t count) {
  const std::string what = "all-reduce of " + std::to_string(count) + " " + std::string(name_of(dtype));
  for (const auto value : {exact_value, rough_value}) {
    const Tensor data = filled(count, dtype, comm.rank(), value);
    const Tensor again = filled(count, dtype, comm.rank(), value);
    comm.all_reduce(data).wait();
    need_sum(data, 0, comm.size(), value, what);
    need_spare_untouched(data, what);
    need_same_everywhere(comm, data, what);
    comm.all_reduce(again).wait();
    need(std::memcmp(data.data(), again.data(), data.bytes()) == 0, what + " differs from run to run");
  }
}

inline void check_reduce_scatter(Communicator& comm, DType dtype, std::int64_t count) {
  const std::string what = "reduce-scatter to " + std::to_string(count) + " " + std::string(name_of(dtype));
  const std::int64_t first = count * comm.rank();
  for (const bool in_place : {false, true}) {
    for (const auto value : {exact_value, rough_value}) {
      const Tensor all = filled(count * comm.size(), dtype, comm.rank(), value);
      const Tensor mine = in_place ? all.slice(first, Shape{count}) : make_tensor(count, dtype, 8);
      comm.reduce_scatter(all, mine).wait();
      need_sum(mine, first, comm.size(), value, what);
      need_spare_untouched(all, what);
      if (!in_place) need_spare_untouched(mine, what);
    }
  }
}

inline std::uint8_t byte_of(std::int64_t i, int rank) {
  return static_cast<std::uint8_t>(i * 31 + rank * 101 + 7);
}

inline void fill_bytes(const Tensor& tensor, int rank) {
  auto* bytes = static_cast<std::uint8_t*>(tensor.data());
  for (std::size_t i = 0; i < tensor.bytes(); ++i) bytes[i] = byte_of(static_cast<std::int64_t>(i), rank);
}

inline void need_bytes(const Tensor& tensor, std::int64_t first, std::size_t count, int rank,
                       const std::string& what) {
  const auto* bytes = static_cast<const std::uint8_t*>(tensor.data()) + first;
  for (std::size_t i = 0; i < count; ++i)
    if (bytes[i] != byte_of(static_cast<std::int64_t>(i), rank))
      throw std::runtime_error("wrong: " + what + ", byte " + std::to_string(i));
}

inline void check_all_gather(Communicator& comm, DType dtype, std::int64_t count) {
  const std::string what = "all-gather of " + std::to_string(count) + " " + std::string(name_of(dtype));
  for (const bool in_place : {false, true}) {
    const Tensor all = make_tensor(count * comm.size(), dtype, 8);
    const Tensor mine =
        in_place ? all.slice(count * comm.rank(), Shape{count}) : make_tensor(count, dtype, 8);
    fill_bytes(mine, comm.rank());
    comm.all_gather(mine, all).wait();
    for (int rank = 0; rank < comm.size(); ++rank)
      need_bytes(all, static_cast<std::int64_t>(mine.bytes()) * rank, mine.bytes(), rank, what);
    need_spare_untouched(all, what);
  }
}

inline void check_broadcast(Communicator& comm, DType dtype, std::int64_t count) {
  for (int root = 0; root < comm.size(); ++root) {
    const std::string what = "broadcast of " + std::to_string(count) + " from " + std::to_string(root);
    const Tensor data = make_tensor(count, dtype, 8);
    if (comm.rank() == root) fill_bytes(data, root);
    comm.broadcast(data, root).wait();
    need_bytes(data, 0, data.bytes(), root, what);
    need_spare_untouched(data, what);
  }
}

// Each rank sends 0, 1 or 2 messages to each, to itself too, of sizes that both sides know.
inline void check_exchange(Communicator& comm, std::int64_t count) {
  const auto messages_of = [](int from, int to) { return (from + 2 * to) % 3; };
  std::vector<Communicator::Message> sends, receives;
  for (int peer = 0; peer < comm.size(); ++peer) {
    for (int i = 0; i < messages_of(comm.rank(), peer); ++i) {
      sends.push_back({peer, make_tensor(count * i + peer, DType::u8)});
      fill_bytes(sends.back().data, comm.rank() * 16 + peer + i);
    }
    for (int i = 0; i < messages_of(peer, comm.rank()); ++i)
      receives.push_back({peer, make_tensor(count * i + comm.rank(), DType::u8, 8)});
  }
  comm.exchange(sends, receives).wait();
  std::size_t at = 0;
  for (int peer = 0; peer < comm.size(); ++peer) {
    for (int i = 0; i < messages_of(peer, comm.rank()); ++i, ++at) {
      const Tensor& data = receives[at].data;
      need_bytes(data, 0, data.bytes(), peer * 16 + comm.rank() + i, "a message");
      need_spare_untouched(data, "a message");
    }
  }
}

// Several calls at once, done in order, waited for from the last to the first.
inline void check_queue(Communicator& comm) {
  std::vector<Tensor> tensors;
  std::vector<lockstep::comm::Pending> pending;
  for (std::int64_t count = 0; count < 6; ++count) {
    tensors.push_back(filled(count * 37, DType::f32, comm.rank(), exact_value));
    pending.push_back(comm.all_reduce(tensors.back()));
    if (count == 2) comm.barrier();
  }
  while (!pending.empty()) {
    pending.back().wait();
    need(pending.back().done(), "a call that was waited for is done");
    need_sum(tensors.back(), 0, comm.size(), exact_value, "a queued all-reduce");
    pending.pop_back();
    tensors.pop_back();
  }
}

inline void check_all(Communicator& comm, const std::vector<DType>& sum_types,
                      const std::vector<std::int64_t>& counts) {
  for (const std::int64_t count : counts) {
    for (const DType dtype : sum_types) {
      check_all_reduce(comm, dtype, count);
      check_reduce_scatter(comm, dtype, count);
    }
    for (const DType dtype : {DType::u8, DType::bf16, DType::i64}) {
      check_all_gather(comm, dtype, count);
      check_broadcast(comm, dtype, count);
    }
    check_exchange(comm, count);
  }
  check_queue(comm);
}

}  // namespace collective_checks
