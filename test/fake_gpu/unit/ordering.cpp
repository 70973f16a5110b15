// Streams, events, and work that nothing puts in order.
#include <catch2/catch.hpp>

#include "child.h"
#include "kernels.h"

using Catch::Matchers::Contains;

namespace {

constexpr std::size_t count = 1000;
constexpr std::size_t bytes = count * sizeof(float);

// Writes on one stream, reads on another; an event orders them or not.
void hand_over(bool with_event) {
  const cudaStream_t first = new_stream();
  const cudaStream_t second = new_stream();
  const cudaEvent_t written = new_event();
  float* const data = new_device_floats(count);
  float* const copy = new_device_floats(count);
  float* const seen = new_page_locked_floats(count, 0);
  EXPECT_OK(cudaMemsetAsync(data, 0, bytes, first));
  add_in_place(data, count, 1, first);
  if (with_event) {
    EXPECT_OK(cudaEventRecord(written, first));
    EXPECT_OK(cudaStreamWaitEvent(second, written, 0));
  }
  add(data, copy, count, 1, second);
  EXPECT_OK(cudaMemcpyAsync(seen, copy, bytes, cudaMemcpyDeviceToHost, second));
  EXPECT_OK(cudaStreamSynchronize(second));
  EXPECT(seen[0] == 2 && seen[count - 1] == 2);
}

}  // namespace

TEST_CASE("an event orders two streams", "[fake_gpu]") {
  CHECK(complaints_of([] { hand_over(true); }) == "");
  CHECK(complaints_of([] { hand_over(true); }, {{"FAKE_GPU_ORDER", "reverse"}}) == "");
}

TEST_CASE("work that reads what no event has ordered is named, with what wrote it", "[fake_gpu]") {
  CHECK_THAT(
      death_of([] { hand_over(false); }),
      Contains(
          "fake GPU: add_kernel on stream 2 reads bytes 0 to 3999, which add_in_place_kernel on stream 1 "
          "writes (of an allocation of 4000): no event and no synchronisation"));
}

TEST_CASE("a write after another stream's read must be ordered too, byte by byte", "[fake_gpu]") {
  const auto race = [](std::size_t offset) {
    const cudaStream_t first = new_stream();
    const cudaStream_t second = new_stream();
    float* const data = new_device_floats(count);
    float* const copy = new_device_floats(count);
    EXPECT_OK(cudaMemsetAsync(data, 0, bytes, first));
    EXPECT_OK(cudaStreamSynchronize(first));
    add(data, copy, count / 2, 1, first);
    EXPECT_OK(cudaMemsetAsync(data + offset, 0, 4, second));
  };
  CHECK_THAT(
      death_of([&] { race(count / 2 - 1); }),
      Contains(
          "cudaMemsetAsync of 4 bytes on stream 2 writes bytes 1996 to 1999, which add_kernel on stream 1 "
          "reads"));
  CHECK(complaints_of([&] { race(count / 2); }) == "");
}

TEST_CASE("an event counts for what came before it, not for what came after", "[fake_gpu]") {
  CHECK_THAT(death_of([] {
               const cudaStream_t first = new_stream();
               const cudaStream_t second = new_stream();
               const cudaEvent_t event = new_event();
               float* const data = new_device_floats(count);
               EXPECT_OK(cudaEventRecord(event, first));
               EXPECT_OK(cudaMemsetAsync(data, 0, bytes, first));
               EXPECT_OK(cudaStreamWaitEvent(second, event, 0));
               add_in_place(data, count, 1, second);
             }),
             Contains("add_in_place_kernel on stream 2 writes bytes 0 to 3999, which cudaMemsetAsync"));
}

TEST_CASE("order goes on from stream to stream", "[fake_gpu]") {
  CHECK(complaints_of([] {
          const cudaStream_t streams[] = {new_stream(), new_stream(), new_stream()};
          const cudaEvent_t events[] = {new_event(), new_event()};
          float* const data = new_device_floats(count);
          EXPECT_OK(cudaMemsetAsync(data, 0, bytes, streams[0]));
          for (int i = 0; i < 2; ++i) {
            EXPECT_OK(cudaEventRecord(events[i], streams[i]));
            EXPECT_OK(cudaStreamWaitEvent(streams[i + 1], events[i], 0));
          }
          add_in_place(data, count, 1, streams[2]);
          EXPECT_OK(cudaDeviceSynchronize());
        }) == "");
}

TEST_CASE("what the host has waited for comes before all that follows", "[fake_gpu]") {
  const auto after = [](cudaError_t (*wait)(cudaStream_t, cudaEvent_t)) {
    return complaints_of([wait] {
      const cudaStream_t first = new_stream();
      const cudaStream_t second = new_stream();
      const cudaEvent_t event = new_event();
      float* const data = new_device_floats(count);
      EXPECT_OK(cudaMemsetAsync(data, 0, bytes, first));
      EXPECT_OK(cudaEventRecord(event, first));
      EXPECT_OK(wait(first, event));
      add_in_place(data, count, 1, second);
      EXPECT_OK(cudaStreamSynchronize(second));
    });
  };
  CHECK(after([](cudaStream_t stream, cudaEvent_t) { return cudaStreamSynchronize(stream); }) == "");
  CHECK(after([](cudaStream_t, cudaEvent_t event) { return cudaEventSynchronize(event); }) == "");
  CHECK(after([](cudaStream_t, cudaEvent_t) { return cudaDeviceSynchronize(); }) == "");
  CHECK(after([](cudaStream_t, cudaEvent_t event) {
          cudaError_t error = cudaErrorNotReady;
          while (error == cudaErrorNotReady) {
            error = cudaEventQuery(event);
          }
          cudaGetLastError();  // that it was not ready
          return error;
        }) == "");
}

TEST_CASE("the default stream, destroyed streams and events are refused", "[fake_gpu]") {
  CHECK_THAT(death_of([] { start(1, 1, nullptr); }), Contains("nothing_kernel on the legacy"));
  CHECK_THAT(death_of([] {
               const cudaStream_t stream = new_stream();
               EXPECT_OK(cudaStreamDestroy(stream));
               EXPECT_OK(cudaStreamSynchronize(stream));
             }),
             Contains("cudaStreamSynchronize on stream 1, which was destroyed"));
  CHECK_THAT(death_of([] {
               const cudaEvent_t event = new_event();
               EXPECT_OK(cudaEventDestroy(event));
               EXPECT_OK(cudaEventDestroy(event));
             }),
             Contains("cudaEventDestroy of an event that was destroyed"));
  CHECK_THAT(death_of([] {
               cudaStream_t stream = nullptr;
               EXPECT_OK(cudaStreamCreateWithFlags(&stream, cudaStreamDefault));
             }),
             Contains("only cudaStreamNonBlocking"));
}

TEST_CASE("events tell the time between them", "[fake_gpu]") {
  CHECK(complaints_of([] {
          const cudaStream_t stream = new_stream();
          cudaEvent_t from = nullptr;
          cudaEvent_t to = nullptr;
          EXPECT_OK(cudaEventCreateWithFlags(&from, cudaEventDefault));
          EXPECT_OK(cudaEventCreateWithFlags(&to, cudaEventDefault));
          float milliseconds = -1;
          EXPECT_ERROR(cudaEventElapsedTime(&milliseconds, from, to), cudaErrorInvalidResourceHandle);
          EXPECT_ERROR(cudaGetLastError(), cudaErrorInvalidResourceHandle);
          EXPECT_OK(cudaEventRecord(from, stream));
          start(1, 1, stream);
          EXPECT_OK(cudaEventRecord(to, stream));
          EXPECT_OK(cudaEventSynchronize(to));
          EXPECT_OK(cudaEventElapsedTime(&milliseconds, from, to));
          EXPECT(milliseconds >= 0);
          EXPECT_ERROR(cudaEventElapsedTime(&milliseconds, from, new_event()),
                       cudaErrorInvalidResourceHandle);
        }) == "");
}
