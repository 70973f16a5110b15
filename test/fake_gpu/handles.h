// The objects behind the opaque pointers that a library hands out. No such pointer is given twice, so that a
// use after the end of its object is always found.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "stream.h"

namespace fake_gpu {

template <typename Handle, typename Object>
class Handles {
 public:
  // "matrix layout": what the objects are called in messages.
  explicit Handles(const char* noun) : noun_(noun) {}

  Handle add(Object object) {
    const std::lock_guard lock(mutex_);
    last_ += 16;
    objects_.emplace(last_, std::move(object));
    return reinterpret_cast<Handle>(last_);
  }

  // Dies unless the object lives. Good until it is removed.
  Object& at(Handle handle, const char* call) {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(reinterpret_cast<std::uintptr_t>(handle));
    if (found == objects_.end()) die_of(handle, call);
    return found->second;
  }

  void remove(Handle handle, const char* call) {
    const std::lock_guard lock(mutex_);
    if (objects_.erase(reinterpret_cast<std::uintptr_t>(handle)) == 0) die_of(handle, call);
  }

 private:
  [[noreturn]] void die_of(Handle handle, const char* call) const {
    const auto number = reinterpret_cast<std::uintptr_t>(handle);
    const char* fault = number == 0                                             ? " is null"
                        : number % 16 == 0 && number > first && number <= last_ ? " was destroyed before"
                                                                                : " was never made";
    die(std::string(call) + ": the " + noun_ + fault);
  }

  static constexpr std::uintptr_t first = 0x10000;  // no address of a process
  const char* noun_;
  std::mutex mutex_;
  std::uintptr_t last_ = first;
  std::map<std::uintptr_t, Object> objects_;
};

}  // namespace fake_gpu
