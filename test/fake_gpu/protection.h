// Keeps the host's threads away from device memory: what touches it there gets SIGSEGV.
#pragma once

#include <cstddef>
#include <map>

namespace fake_gpu {

// By a memory protection key where processor and kernel have them: only the device's thread, and threads that
// it starts, may touch the memory, at any time. Else by mprotect() while the device's thread has nothing to
// do: the host's access is struck after every synchronisation, but not while work runs. Not thread-safe.
class Protection {
 public:
  Protection();

  void add(void* pages, std::size_t bytes);
  void remove(void* pages);

  void device_thread_starts() const;
  void device_works();
  void device_rests();

 private:
  void set(void* pages, std::size_t bytes, bool open) const;

  int key_;  // below 0: none
  bool open_ = false;
  std::map<void*, std::size_t> ranges_;
};

}  // namespace fake_gpu
