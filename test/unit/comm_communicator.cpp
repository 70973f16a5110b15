#include <barrier>
#include <catch2/catch.hpp>
#include <functional>
#include <latch>
#include <thread>

#include "collective_checks.h"
#include "comm/host_communicator.h"
#include "core/error.h"
#include "large_sums.h"
#include "ranks.h"

namespace {

using namespace collective_checks;
using lockstep::Error;
using lockstep::ExitCode;
using lockstep::comm::Algorithm;
using lockstep::comm::HostCommunicator;
using lockstep::comm::HostCommunicatorOptions;
using lockstep::comm::Transport;

// Whoever waited for this would hang the test.
const HostCommunicatorOptions patient{.limit_seconds = 3600, .grace_seconds = 3600};

const std::vector<std::string> nodes{"n0", "n1", "n2", "n3"};

}  // namespace

TEST_CASE("every collective on 1 to 8 ranks has the known result") {
  const bool background = GENERATE(false, true);
  for (int size = 1; size <= 8; ++size) {
    as_ranks(size, size < 5 ? nodes : std::vector<std::string>{"a", "a", "a", "b"},
             [&](std::unique_ptr<Transport> transport) {
               HostCommunicator comm(std::move(transport), {});
               comm.set_background(background);
               check_all(comm, {DType::f32, DType::bf16, DType::f16}, {0, 1, 2, 7, 8, 9, 63, 1001});
             });
  }
}

// Through memory that two levels share where the ranks have one node, by messages where each has its own.
TEST_CASE("sums between threads may be longer than 2^31 bytes", "[.large]") {
  const std::vector<std::string> hosts =
      GENERATE(std::vector<std::string>{"a", "b"}, std::vector<std::string>{"a", "a"});
  for (const auto algorithm : {Algorithm::direct, Algorithm::ring, Algorithm::doubling}) {
    if (!large_sums::has_memory(algorithm, 2)) {
      WARN("too little memory for sums by " << name_of(algorithm));
      continue;
    }
    as_ranks(2, hosts, [&](std::unique_ptr<Transport> transport) {
      HostCommunicator comm(std::move(transport), {.algorithm = algorithm});
      for (const DType dtype : {DType::f32, DType::bf16}) large_sums::check(comm, dtype);
    });
  }
}

TEST_CASE("the bits of formats in the checks are IEEE's") {
  CHECK(bits_of(1., DType::bf16) == 0x3f80);
  CHECK(bits_of(-2.5, DType::f16) == 0xc100);
  CHECK(bits_of(std::ldexp(1., -24), DType::f16) == 1);
  CHECK(bits_of(1. + std::ldexp(1., -11), DType::f16) == 0x3c00);
  CHECK(bits_of(1. + 3 * std::ldexp(1., -11), DType::f16) == 0x3c02);
  float f = 0.1f;
  std::uint32_t bits = 0;
  std::memcpy(&bits, &f, 4);
  CHECK(bits_of(0.1, DType::f32) == bits);
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32}) {
    for (const double value : {0., 1., -3.25, 240., 6e-5, -6e-8})
      CHECK(value_of(bits_of(value, dtype), dtype) == rounded(value, dtype));
  }
}

TEST_CASE("a rank that makes no call is named by the others, and learns of it when it comes") {
  std::barrier start(3);  // the limit is for the call alone, not for the ranks' way to it
  std::latch end(3);
  as_ranks(3, nodes, [&](std::unique_ptr<Transport> transport) {
    const bool late = transport->rank() == 2;
    HostCommunicator comm(std::move(transport),
                          late ? patient : HostCommunicatorOptions{.limit_seconds = 0.3, .grace_seconds = 3});
    comm.set_background(late);
    start.arrive_and_wait();
    const Tensor data = make_tensor(100, DType::f32);
    const auto reduce = [&] { comm.all_reduce(data).wait(); };
    if (!late) {
      const std::string text = failure_of(reduce);
      end.count_down();
      need_text(text, "call 1 (all-reduce of 100 f32): ");
      need_text(text, "no answer from rank 2 on n2");
      need(text.ends_with("rank 2 on n2"), "only that rank is missing: " + text);
      need(failure_of([&] { comm.barrier(); }) == text, "later calls fail alike");
    } else {
      end.count_down();
      end.wait();
      // Whom the first to give up waited for, is the algorithm's affair.
      const std::string text = failure_of(reduce);
      need_text(text, "gave up: no word from rank ");
      need_text(text, " within 0.3 s; all ranks are in this call");
    }
  });
}

TEST_CASE("ranks that disagree about a call all say who does what") {
  const auto background = GENERATE(false, true);
  const auto other = GENERATE(values<std::function<void(HostCommunicator&)>>({
      [](HostCommunicator& comm) { comm.all_reduce(make_tensor(101, DType::f32)).wait(); },
      [](HostCommunicator& comm) { comm.broadcast(make_tensor(100, DType::f32), 0).wait(); },
      [](HostCommunicator& comm) { comm.exchange({}, {}).wait(), comm.barrier(); },
  }));
  std::vector<std::string> texts(4);
  as_ranks(4, nodes, [&](std::unique_ptr<Transport> transport) {
    const auto rank = static_cast<std::size_t>(transport->rank());
    HostCommunicator comm(std::move(transport), {.limit_seconds = 0.3, .grace_seconds = 600});
    comm.set_background(background);
    texts[rank] = failure_of([&] {
      if (rank == 1) {
        other(comm);
      } else {
        comm.all_reduce(make_tensor(100, DType::f32)).wait();
      }
    });
  });
  for (const std::size_t rank : {0u, 2u, 3u})
    CHECK_THAT(texts[rank], Catch::Contains("rank 1 on n1 is in call "));
  CHECK_THAT(texts[1],
             Catch::Contains("rank 0 on n0 is in call 1 (all-reduce of 100 f32), rank 2 on n2 is in"));
}

TEST_CASE("a fault of one rank ends the call of all, who say why") {
  as_ranks(3, nodes, [&](std::unique_ptr<Transport> transport) {
    HostCommunicator comm(std::move(transport), patient);
    comm.barrier();
    if (comm.rank() == 1) {
      try {
        comm.all_reduce(make_tensor(5, DType::i64)).wait();
      } catch (const Error& error) {
        need(error.code() == ExitCode::internal, "its own error stays");
        return;
      }
      throw std::runtime_error("nothing was thrown");
    }
    need_text(failure_of([&] { comm.all_reduce(make_tensor(5, DType::f32)).wait(); }),
              "rank 1 on n1 gave up: f32, bf16 or f16 was wanted");
  });
}

TEST_CASE("abort ends what is under way, here alone") {
  const bool background = GENERATE(false, true);
  auto transports = lockstep::comm::make_thread_transports(2, nodes);
  const auto waits = transports[0]->waits();
  std::unique_ptr<HostCommunicator> first;
  as_ranks(2, [&](int rank) {
    auto comm =
        std::make_unique<HostCommunicator>(std::move(transports[static_cast<std::size_t>(rank)]), patient);
    if (rank == 0) first = std::move(comm);
  });
  first->set_background(background);
  std::jthread other([&] {
    while (*waits == 0) std::this_thread::yield();
    first->abort();
  });
  auto pending = first->all_reduce(make_tensor(100, DType::f32));
  CHECK_THAT(failure_of([&] { pending.wait(); }),
             Catch::Contains("call 1 (all-reduce of 100 f32) was aborted"));
  CHECK_THROWS_AS(pending.done(), Error);
  CHECK_THROWS_AS(first->barrier(), Error);
  CHECK(*waits == 0);
}

TEST_CASE("a rank counts as waiting while its caller waits, in the background too") {
  const bool background = GENERATE(false, true);
  std::latch seen(2);
  as_ranks(2, nodes, [&](std::unique_ptr<Transport> transport) {
    const auto waits = transport->waits();
    HostCommunicator comm(std::move(transport), patient);
    comm.set_background(background);
    const Tensor data = make_tensor(3, DType::u8);
    if (comm.rank() == 0) {
      auto pending = comm.broadcast(data, 1);
      need(*waits == 0, "a call that nobody waits for counts");
      const auto counted = [&] {
        while (*waits != 1) std::this_thread::yield();
        seen.arrive_and_wait();
      };
      std::jthread watcher(counted);
      pending.wait();
      need(*waits == 0, "a wait that is over counts");
    } else {
      seen.arrive_and_wait();
      comm.broadcast(data, 1).wait();
    }
  });
}

TEST_CASE("a communicator with calls under way can be given up, and its calls know it") {
  const bool background = GENERATE(false, true);
  as_ranks(2, nodes, [&](std::unique_ptr<Transport> transport) {
    const int rank = transport->rank();
    lockstep::comm::Pending pending;
    {
      HostCommunicator comm(std::move(transport), patient);
      comm.set_background(background);
      if (rank == 0) pending = comm.broadcast(make_tensor(3, DType::u8), 1);
    }
    if (rank == 0) failure_of([&] { pending.wait(); });
  });
}

TEST_CASE("duplicates have calls of their own") {
  as_ranks(3, nodes, [&](std::unique_ptr<Transport> transport) {
    HostCommunicator comm(std::move(transport), patient);
    const auto twin = comm.duplicate();
    const auto other = comm.duplicate();
    comm.set_background(true);
    twin->set_background(true);
    const Tensor a = filled(100, DType::f32, comm.rank(), exact_value);
    const Tensor b = filled(50, DType::f32, comm.rank(), exact_value);
    auto on_comm = [&] { return comm.all_reduce(a); };
    auto on_twin = [&] { return twin->all_reduce(b); };
    auto first = comm.rank() == 0 ? on_comm() : on_twin();
    auto second = comm.rank() == 0 ? on_twin() : on_comm();
    first.wait();
    second.wait();
    need_sum(a, 0, 3, exact_value, "on the original");
    need_sum(b, 0, 3, exact_value, "on the duplicate");
    other->barrier();
  });
}

TEST_CASE("calls that cannot work are refused where they are made") {
  as_ranks(2, nodes, [&](std::unique_ptr<Transport> transport) {
    HostCommunicator comm(std::move(transport), patient);
    const Tensor three = make_tensor(3, DType::f32), five = make_tensor(5, DType::f32);
    const Communicator::Message message{2, three};
    const std::vector<std::function<void()>> calls{
        [&] { comm.broadcast(three, 2); },
        [&] { comm.broadcast(three, -1); },
        [&] { comm.reduce_scatter(five, three); },
        [&] { comm.all_gather(three, five); },
        [&] { comm.exchange(std::span(&message, 1), {}); },
    };
    for (const auto& call : calls) {
      try {
        call();
      } catch (const Error& error) {
        need(error.code() == ExitCode::internal, error.what());
        continue;
      }
      throw std::runtime_error("nothing was thrown");
    }
    comm.barrier();
  });
}
