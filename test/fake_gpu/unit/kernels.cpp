// What threads of a block do together, and what they do wrong.
#include <catch2/catch.hpp>
#include <vector>

#include "child.h"
#include "kernels.h"

using Catch::Matchers::Contains;

namespace {

const Settings orders[] = {{}, {{"FAKE_GPU_ORDER", "reverse"}}};

// What `work` makes of the numbers 0, 1, 2, ... (`count` of them), `results` numbers.
template <typename Work>
std::vector<float> results_of(std::size_t count, std::size_t results, const Work& work) {
  const cudaStream_t stream = new_stream();
  float* const from = new_device_floats(count);
  float* const to = new_device_floats(results);
  std::vector<float> host(count);
  for (std::size_t i = 0; i < count; ++i) {
    host[i] = static_cast<float>(i);
  }
  EXPECT_OK(cudaMemcpyAsync(from, host.data(), count * sizeof(float), cudaMemcpyHostToDevice, stream));
  work(from, to, stream);
  host.resize(results);
  EXPECT_OK(cudaMemcpyAsync(host.data(), to, results * sizeof(float), cudaMemcpyDeviceToHost, stream));
  return host;
}

}  // namespace

TEST_CASE("threads reduce over barriers and shuffles", "[fake_gpu]") {
  for (const Settings& order : orders) {
    CHECK(complaints_of(
              [] {
                const auto sum = results_of(1000, 1, [](const float* from, float* to, cudaStream_t stream) {
                  sum_by_barriers(from, to, 1000, stream);
                });
                EXPECT(sum[0] == 499500);
              },
              order) == "");
    for (const unsigned threads : {32U, 256U, 1024U}) {
      CHECK(complaints_of(
                [threads] {
                  const auto sum =
                      results_of(1000, 1, [&](const float* from, float* to, cudaStream_t stream) {
                        sum_by_shuffles(from, to, 1000, threads, stream);
                      });
                  EXPECT(sum[0] == 499500);
                },
                order) == "");
    }
  }
}

TEST_CASE("a lane takes any other lane's value", "[fake_gpu]") {
  CHECK(complaints_of([] {
          const auto chosen = results_of(64, 64, [](const float* from, float* to, cudaStream_t stream) {
            choose_lanes(from, to, 64, stream);
          });
          for (std::size_t i = 0; i < 64; ++i) {
            EXPECT(chosen[i] == static_cast<float>(i / 32 * 32 + 3 * (i % 32) % 32));
          }
        }) == "");
}

TEST_CASE("blocks have rows, columns and shared memory of their own", "[fake_gpu]") {
  for (const Settings& order : orders) {
    CHECK(complaints_of(
              [] {
                const auto numbers = results_of(1, 12, [](const float*, float* to, cudaStream_t stream) {
                  number_blocks(to, 4, 3, stream);
                });
                for (std::size_t i = 0; i < 12; ++i) {
                  EXPECT(numbers[i] == static_cast<float>(i / 4 * 100 + i % 4));
                }
              },
              order) == "");
  }
}

TEST_CASE("a kernel that depends on the order of blocks shows it", "[fake_gpu]") {
  const auto winner_is = [](float number) {
    return [number] {
      const auto winner = results_of(
          1, 1, [](const float*, float* to, cudaStream_t stream) { last_block_wins(to, 7, stream); });
      EXPECT(winner[0] == number);
    };
  };
  CHECK(complaints_of(winner_is(6), orders[0]) == "");
  CHECK(complaints_of(winner_is(0), orders[1]) == "");
}

TEST_CASE("threads that wait for others that do not come are named", "[fake_gpu]") {
  const auto finish = [](cudaStream_t stream) { EXPECT_OK(cudaStreamSynchronize(stream)); };
  CHECK_THAT(
      death_of([&] {
        const cudaStream_t stream = new_stream();
        leave_before_barrier(64, 40, stream);
        finish(stream);
      }),
      Contains("leave_before_barrier_kernel: thread 0 of block 0 waits at __syncthreads, and thread 40 has "
               "returned"));
  CHECK_THAT(death_of([&] {
               const cudaStream_t stream = new_stream();
               diverge(stream);
               finish(stream);
             }),
             Contains("diverge_kernel: thread 0 of block 0 waits at __syncwarp for threads of its warp"));
  CHECK_THAT(death_of([&] {
               const cudaStream_t stream = new_stream();
               name_missing_lanes(stream);
               finish(stream);
             }),
             Contains("name_missing_lanes_kernel: thread 0 of block 0 names other threads in the mask"));
}

TEST_CASE("what a kernel says that it overwrites is gone before it runs", "[fake_gpu]") {
  CHECK(complaints_of([] {
          const auto sums = results_of(1, 1, [](const float*, float* to, cudaStream_t stream) {
            EXPECT_OK(cudaMemsetAsync(to, 0, sizeof(float), stream));
            add_to_overwritten(to, 1, stream);
          });
          EXPECT(sums[0] != 1);
        }) == "");
  CHECK_THAT(death_of([] {
               float* const data = new_device_floats(8);
               add(data, data, 8, 1, new_stream());
             }),
             Contains("add_kernel is said to write what it also uses otherwise"));
}

TEST_CASE("what a kernel changes beyond what it says is found", "[fake_gpu]") {
  const Settings watch{{"FAKE_GPU_WATCH_WRITES", "1"}};
  const auto body = [](std::size_t said) {
    return [said] {
      const cudaStream_t stream = new_stream();
      float* const data = new_device_floats(8);
      new_device_floats(8);
      EXPECT_OK(cudaMemsetAsync(data, 0, 32, stream));
      add_beyond(data + 1, said, stream);
      EXPECT_OK(cudaStreamSynchronize(stream));
    };
  };
  CHECK(complaints_of(body(5)) == "");
  CHECK_THAT(
      death_of(body(5), watch),
      Contains("add_in_place_kernel on stream 1 has changed byte 26 of an allocation of 32 bytes") ||
          Contains("add_in_place_kernel on stream 1 has changed byte 27 of an allocation of 32 bytes"));
  CHECK(complaints_of(
            [] {
              const cudaStream_t stream = new_stream();
              float* const data = new_device_floats(8);
              EXPECT_OK(cudaMemsetAsync(data, 0, 32, stream));
              add_in_place(data + 1, 6, 1, stream);
              EXPECT_OK(cudaStreamSynchronize(stream));
            },
            watch) == "");
}

TEST_CASE("grids that no device runs are refused", "[fake_gpu]") {
  const auto refused = [](unsigned blocks, unsigned threads) {
    return in_child({}, [=] { start(blocks, threads, new_stream()); }).output;
  };
  CHECK_THAT(refused(0, 32), Contains("invalid configuration"));
  CHECK_THAT(refused(1, 0), Contains("invalid configuration"));
  CHECK_THAT(refused(1, 1025), Contains("invalid configuration"));
  CHECK(refused(1, 1024) == "");
}
