// Owns one handle of a CUDA library's C interface.
#pragma once

#include <utility>

namespace lockstep::device::cuda {

// `destroy` may return a status, which nobody could do anything about.
template <typename Handle, auto destroy>
class Descriptor {
 public:
  Descriptor() = default;
  ~Descriptor() {
    if (handle_ != nullptr) destroy(handle_);
  }
  Descriptor(Descriptor&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }

  Handle get() const { return handle_; }
  Handle* out() { return &handle_; }  // for the call that makes it; it must be empty

 private:
  Handle handle_ = nullptr;
};

}  // namespace lockstep::device::cuda
