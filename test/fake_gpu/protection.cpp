#include "protection.h"

#include <sys/mman.h>

#include <cstdlib>

#include "settings.h"

namespace fake_gpu {

Protection::Protection()
    : key_(setting("FAKE_GPU_PROTECTION_KEYS", 1) == 1 ? pkey_alloc(0, PKEY_DISABLE_ACCESS) : -1) {}

void Protection::set(void* pages, std::size_t bytes, bool open) const {
  mprotect(pages, bytes, open ? PROT_READ | PROT_WRITE : PROT_NONE);
}

void Protection::add(void* pages, std::size_t bytes) {
  if (key_ >= 0) {
    pkey_mprotect(pages, bytes, PROT_READ | PROT_WRITE, key_);
    return;
  }
  ranges_.insert({pages, bytes});
  set(pages, bytes, open_);
}

void Protection::remove(void* pages) {
  ranges_.erase(pages);
}

void Protection::device_thread_starts() const {
  if (key_ >= 0) {
    pkey_set(key_, 0);
  }
}

void Protection::device_works() {
  if (!open_) {
    open_ = true;
    for (const auto& [pages, bytes] : ranges_) {
      set(pages, bytes, true);
    }
  }
}

void Protection::device_rests() {
  if (open_) {
    open_ = false;
    for (const auto& [pages, bytes] : ranges_) {
      set(pages, bytes, false);
    }
  }
}

}  // namespace fake_gpu
