// RAII over HDF5 identifiers, HDF5 errors as exceptions, and the one lock that every HDF5 call needs.
#pragma once

#include <hdf5.h>

#include <mutex>
#include <string_view>
#include <utility>

#include "core/error.h"

namespace lockstep::hdf5 {

// Debian's HDF5 is not thread-safe: whoever calls it holds this lock. It is recursive so that a function that
// needs it may be called by one that has it. Never wait for a queue or a peer while holding it for local
// work.
std::unique_lock<std::recursive_mutex> lock();

// Throws Error(code): `what` and, after it, the innermost reason on HDF5's own error stack.
[[noreturn]] void raise(ExitCode code, std::string_view what);

// Owns one identifier of the kind that `close` closes.
template <herr_t (*close)(hid_t)>
class Handle {
 public:
  Handle() = default;
  explicit Handle(hid_t id) : id_(id) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  ~Handle() {
    if (id_ >= 0) {
      const auto guard = lock();
      close(id_);
    }
  }
  hid_t get() const { return id_; }
  // Gives the identifier away, unclosed.
  hid_t release() { return std::exchange(id_, H5I_INVALID_HID); }
  // Closes now and reports failure, which a destructor cannot.
  void close_checked(ExitCode code, std::string_view what) {
    const auto guard = lock();
    if (id_ >= 0 && close(std::exchange(id_, H5I_INVALID_HID)) < 0) raise(code, what);
  }

 private:
  hid_t id_ = H5I_INVALID_HID;
};

using File = Handle<H5Fclose>;
using Group = Handle<H5Gclose>;
using Dataset = Handle<H5Dclose>;
using Dataspace = Handle<H5Sclose>;
using Datatype = Handle<H5Tclose>;
using Attribute = Handle<H5Aclose>;
using PropertyList = Handle<H5Pclose>;

// Wraps a fresh identifier, or raises `what`.
template <typename H>
H own(hid_t id, ExitCode code, std::string_view what) {
  if (id < 0) raise(code, what);
  return H(id);
}

// For calls that return a status: `check(H5Dread(...), code, "read dataset x of file y")`.
inline void check(herr_t status, ExitCode code, std::string_view what) {
  if (status < 0) raise(code, what);
}

}  // namespace lockstep::hdf5
