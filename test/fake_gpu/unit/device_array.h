// Arrays in the fake device's memory, for tests of the stand-ins.
#pragma once

#include <cuda_runtime_api.h>

#include <catch2/catch.hpp>
#include <cstddef>
#include <vector>

namespace fake_gpu {

class Stream {
 public:
  Stream() { REQUIRE(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking) == cudaSuccess); }
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
    REQUIRE(cudaMalloc(&address, count * sizeof(T)) == cudaSuccess);
    data_ = static_cast<T*>(address);
  }
  DeviceArray(const std::vector<T>& values, const Stream& stream) : DeviceArray(values.size()) {
    REQUIRE(cudaMemcpyAsync(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice, stream.get()) ==
            cudaSuccess);
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() const { return data_; }
  std::size_t bytes() const { return count_ * sizeof(T); }
  std::vector<T> values(const Stream& stream) const {
    std::vector<T> result(count_);
    REQUIRE(cudaMemcpyAsync(result.data(), data_, bytes(), cudaMemcpyDeviceToHost, stream.get()) ==
            cudaSuccess);
    REQUIRE(cudaStreamSynchronize(stream.get()) == cudaSuccess);
    return result;
  }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

}  // namespace fake_gpu
