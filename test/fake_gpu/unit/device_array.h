// Arrays in the fake device's memory, for tests of the stand-ins in child processes.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <vector>

#include "child.h"

class Stream {
 public:
  Stream() { EXPECT_OK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count) : count_(count) {
    void* address = nullptr;
    EXPECT_OK(cudaMalloc(&address, count * sizeof(T)));
    data_ = static_cast<T*>(address);
  }
  DeviceArray(const std::vector<T>& values, const Stream& stream) : DeviceArray(values.size()) {
    EXPECT_OK(
        cudaMemcpyAsync(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice, stream.get()));
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() const { return data_; }
  std::size_t bytes() const { return count_ * sizeof(T); }
  std::vector<T> values(const Stream& stream) const {
    std::vector<T> result(count_);
    EXPECT_OK(cudaMemcpyAsync(result.data(), data_, bytes(), cudaMemcpyDeviceToHost, stream.get()));
    EXPECT_OK(cudaStreamSynchronize(stream.get()));
    return result;
  }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};
