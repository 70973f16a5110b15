#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>
#include <thread>

#include "../../mpi/ranks.h"
#include "../../unit/collective_checks.h"
#include "../../unit/reducer_bench.h"
#include "core/clock.h"
#include "core/error.h"
#include "gpu_rank.h"
#include "staged_communicator.h"

using namespace collective_checks;
using namespace lockstep;
using comm::MpiGroup;

namespace {

std::vector<float> download(device::Device& device, const Tensor& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.count()));
  device.download(tensor, values);
  return values;
}

Tensor upload(device::Device& device, const std::vector<float>& values) {
  const Tensor tensor = device.empty({static_cast<std::int64_t>(values.size())});
  device.upload(values, tensor);
  return tensor;
}

std::string name_of(const MpiGroup& group, int rank) {
  return "rank " + std::to_string(rank) + " on " + group.host(rank);
}

}  // namespace

TEST_CASE("every collective by NCCL has the known result", "[nccl]") {
  const MpiGroup group(MPI_COMM_WORLD);
  const auto device = open_gpu();
  StagedCommunicator comm(open_nccl(group, *device), *device);
  check_all(comm, {DType::f32, DType::bf16, DType::f16}, {0, 1, 2, 15, 1001});
  const auto twin = comm.duplicate();
  check_all(*twin, {DType::f32}, {5});
  comm.barrier();
  twin->barrier();
  CHECK(*group.waits() == 0);
}

TEST_CASE("sums of 16-bit values have the bits of the host's", "[nccl]") {
  const MpiGroup group(MPI_COMM_WORLD);
  const auto device = open_gpu();
  StagedCommunicator there(open_nccl(group, *device), *device);
  comm::HostCommunicatorOptions options;
  options.algorithm = comm::Algorithm::direct;
  comm::HostCommunicator here(comm::make_mpi_transport(group), options);
  for (const DType dtype : {DType::bf16, DType::f16}) {
    const Tensor a = filled(1003, dtype, group.rank(), rough_value);
    const Tensor b = filled(1003, dtype, group.rank(), rough_value);
    here.all_reduce(a).wait();
    there.all_reduce(b).wait();
    CHECK(std::memcmp(a.data(), b.data(), a.bytes()) == 0);
  }
}

TEST_CASE("a call comes behind the device's work, and the device's work behind its wait", "[nccl]") {
  const MpiGroup group(MPI_COMM_WORLD);
  const auto device = open_gpu();
  const auto comm = open_nccl(group, *device);
  const auto ranks = static_cast<float>(comm->size());
  const Tensor data = device->empty({1000});
  device->fill(1.f, data);
  auto pending = comm->all_reduce(data);
  pending.wait();
  device->scale(2.f, data);
  // The last rank comes when the others' devices have been told to wait: nothing can be done before.
  const bool last = group.rank() == group.size() - 1;
  if (last) MPI_Barrier(MPI_COMM_WORLD);
  comm->all_reduce(data).wait();
  if (!last) MPI_Barrier(MPI_COMM_WORLD);
  CHECK(download(*device, data) == std::vector<float>(1000, 2 * ranks * ranks));
  CHECK(pending.done());
  pending.wait();
  // What nobody holds any more stays until it is done.
  auto sum = comm->all_reduce(upload(*device, std::vector<float>(100, 1.f)));
  comm->barrier();
  CHECK(sum.done());
}

TEST_CASE("what a GPU waits for a late rank is known after the wait", "[nccl]") {
  const MpiGroup group(MPI_COMM_WORLD);
  if (group.size() == 1) return;
  const int last = group.size() - 1;
  const auto device = open_gpu();
  const auto comm = open_nccl(group, *device);
  const auto watch = device->make_stopwatch();
  const Tensor data = upload(*device, std::vector<float>(1000, 1.f));
  constexpr double late = 0.03;
  device->synchronise();
  if (group.rank() == last) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = monotonic_seconds();
    while (monotonic_seconds() < begin + late) std::this_thread::yield();
    comm->all_reduce(data).wait();
  } else {
    auto sum = comm->all_reduce(data);
    {
      const device::Stopwatch::Stretch stretch(*watch);
      const device::cuda::Event begun;
      begun.record(device->stream());
      while (!begun.done()) std::this_thread::yield();
      MPI_Barrier(MPI_COMM_WORLD);
      sum.wait();
    }
  }
  device->synchronise();
  if (group.rank() != last) CHECK(watch->seconds() > 0.999 * late);
  comm->barrier();
}

TEST_CASE("exact sums on GPUs have the tree's bits for every number of ranks", "[nccl]") {
  constexpr std::size_t size = 1000;
  for (const int lanes : {4, 6}) {
    std::vector<std::vector<bool>> cases = {std::vector<bool>(static_cast<std::size_t>(lanes), true),
                                            std::vector<bool>(static_cast<std::size_t>(lanes), false)};
    cases.emplace_back(static_cast<std::size_t>(lanes), true);
    cases.back()[1] = cases.back()[3] = false;
    for (int ranks = 1; ranks <= world_size(); ++ranks) {
      const auto group = first_ranks(ranks);
      if (!group) continue;
      for (const Way way : {Way{192, true}, Way{1 << 20, false}}) {
        auto device = open_gpu();
        auto comm = open_nccl(*group, *device);
        ReducerBench bench(std::move(device), std::move(comm), exact_sum, lanes, size, way.bucket);
        for (const auto& present : cases) {
          std::vector<float> wanted = reference(0, comm::tree_width(lanes), present, size);
          wanted.resize(size);
          INFO("lanes " << lanes << " ranks " << ranks << " bucket " << way.bucket);
          CHECK(same_bits(bench.step(present, way.overlap), wanted));
        }
      }
    }
  }
}

TEST_CASE("fast sums on GPUs are what the ranks bring", "[nccl]") {
  const MpiGroup group(MPI_COMM_WORLD);
  constexpr int lanes = 6;
  constexpr std::size_t size = 1000;
  // Rounded sums of these values are the same.
  for (const auto& [sum, overlap] : {std::pair(fast_sum, false), std::pair(fast_sum, true),
                                     std::pair(rounded_sum, false), std::pair(rounded_sum, true)}) {
    auto device = open_gpu();
    auto comm = open_nccl(group, *device);
    ReducerBench bench(std::move(device), std::move(comm), sum, lanes, size, 192);
    for (const int last : {lanes, 1}) {  // lanes with samples: with one, most ranks have none
      std::vector<bool> present(lanes, false);
      std::fill(present.begin(), present.begin() + last, true);
      bench.begin(present, overlap);
      for (int lane = bench.own().first; lane < std::min(last, bench.own().last); ++lane)
        bench.bring(lane, std::vector<float>(size, static_cast<float>(lane + 1)));
      const auto wanted = static_cast<float>(last * (last + 1)) / 2;
      CHECK(bench.values(bench.reducer().finish()) == std::vector<float>(size, wanted));
    }
  }
}

TEST_CASE("the last rank makes no call by NCCL: it is named, and learns of it when it comes", "[nccl]") {
  const MpiGroup group(MPI_COMM_WORLD);
  const int last = group.size() - 1;
  if (last == 0) return;
  const bool late = group.rank() == last;
  const auto device = open_gpu();
  std::string text;
  {
    const auto comm =
        open_nccl(group, *device, {.limit_seconds = late ? 3600 : 0.3, .grace_seconds = late ? 3600. : 2});
    const Tensor data = upload(*device, std::vector<float>(1000, 1.f));
    device->synchronise();
    MPI_Barrier(MPI_COMM_WORLD);
    if (late) MPI_Barrier(MPI_COMM_WORLD);
    std::atomic<bool> over{false}, waited{false};
    std::thread watcher([&] {
      while (!over) {
        if (*group.waits() > 0) waited = true;
        std::this_thread::yield();
      }
    });
    text = failure_of([&] {
      comm->all_reduce(data).wait();
      device->synchronise();
    });
    over = true;
    watcher.join();
    CHECK((waited || late));  // as those see it who look for the one that does not wait
    // The device's work that waited for the sum goes on: the sum is aborted, on whichever stream it was.
    const double patience = monotonic_seconds() + 20;
    while (cudaStreamQuery(device->stream()) == cudaErrorNotReady && monotonic_seconds() < patience)
      std::this_thread::yield();
    cudaGetLastError();
    CHECK(cudaStreamQuery(device->stream()) == cudaSuccess);
    if (!late) MPI_Barrier(MPI_COMM_WORLD);
    CHECK(failure_of([&] { comm->barrier(); }) == text);
  }
  CHECK_THAT(text, Catch::Contains("not done within 0.3 s"));
  if (!late) {
    CHECK_THAT(text, Catch::Contains("call 1 (all-reduce of 1000 f32)") &&
                         Catch::Contains("no answer from " + name_of(group, last)));
  }
  CHECK(*group.waits() == 0);
  // The device goes on.
  CHECK(download(*device, upload(*device, {1, 2, 3})) == std::vector<float>{1, 2, 3});
}

TEST_CASE("a call that is aborted by another thread ends in an error", "[nccl]") {
  const MpiGroup group(MPI_COMM_WORLD);
  if (group.size() == 1) return;
  const auto device = open_gpu();
  const auto comm = open_nccl(group, *device);
  const Tensor data = upload(*device, std::vector<float>(1000, 1.f));
  auto pending = group.rank() == 0 ? comm->all_reduce(data) : comm::Pending();
  std::thread other([&] { comm->abort(); });
  other.join();
  CHECK_THAT(failure_of([&] {
               pending.wait();
               comm->barrier();
             }),
             Catch::EndsWith("was aborted"));
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST_CASE("a communicator that goes takes along what nobody waits for", "[nccl]") {
  const MpiGroup group(MPI_COMM_WORLD);
  const auto device = open_gpu();
  comm::Pending lost;
  const Tensor data = upload(*device, std::vector<float>(1000, 1.f));
  {
    const auto comm = open_nccl(group, *device);
    comm->all_reduce(data).wait();  // this one is waited for
  }
  CHECK(download(*device, data)[0] == static_cast<float>(group.size()));
  if (group.size() == 1) return;
  {
    const auto comm = open_nccl(group, *device, {.grace_seconds = 0.2});
    if (group.rank() == 0) lost = comm->all_reduce(data);
  }
  if (group.rank() == 0) {
    CHECK_THAT(failure_of([&] { lost.wait(); }), Catch::Contains("still under way"));
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST_CASE("faults of the caller are named", "[nccl]") {
  const MpiGroup group(MPI_COMM_WORLD);
  const auto device = open_gpu();
  const auto comm = open_nccl(group, *device);
  const Tensor three = device->empty({3}), bytes = device->empty({3}, DType::u8);
  const comm::Communicator::Message none[] = {{group.size(), three}};
  const comm::Communicator::Message own[] = {{group.rank(), three}};
  const comm::Communicator::Message shorter[] = {{group.rank(), device->empty({2})}};
  CHECK_THROWS_WITH(comm->all_reduce(bytes), Catch::EndsWith("a sum of u8"));
  CHECK_THROWS_WITH(comm->all_gather(three, bytes), Catch::EndsWith("an all-gather of unlike tensors"));
  CHECK_THROWS_WITH(comm->reduce_scatter(bytes, three),
                    Catch::EndsWith("a reduce-scatter of unlike tensors"));
  CHECK_THROWS_WITH(comm->broadcast(three, group.size()), Catch::EndsWith("a rank that does not exist"));
  CHECK_THROWS_WITH(comm->exchange(none, {}), Catch::EndsWith("a rank that does not exist"));
  CHECK_THROWS_WITH(comm->exchange(own, {}), Catch::EndsWith("do not match"));
  CHECK_THROWS_WITH(comm->exchange(own, shorter), Catch::EndsWith("of another size"));
}
