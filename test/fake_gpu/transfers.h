// Copies between page-locked memory and the device that the host does not yet know to be done. Until then it
// may not touch the page-locked side.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "clock.h"

namespace fake_gpu {

// Not thread-safe: the caller holds the runtime's lock.
class Transfers {
 public:
  // Die where the memory takes part in a transfer that is not known to be done and that this one would
  // disturb.
  void upload(const char* source, std::size_t bytes, const Stamp& stamp);
  // Leaves garbage in `target` until the host knows of the copy's end, however early that is made. Comes back
  // with where to make it.
  std::shared_ptr<std::vector<char>> download(char* target, std::size_t bytes, const Stamp& stamp);

  // The host knows that all that `clock` covers is done: downloads appear. Dies where it has changed what was
  // uploaded before.
  void settle(const Clock& clock);

  // Dies where `memory` takes part in a transfer.
  void must_be_idle(const char* memory, std::size_t bytes, const std::string& call) const;

 private:
  struct Transfer {
    const char* memory;
    std::size_t bytes;
    bool upload;
    std::size_t hash;                         // of what is uploaded, at the call
    std::shared_ptr<std::vector<char>> copy;  // of what is downloaded
    Stamp stamp;
  };

  const Transfer* overlapping(const char* memory, std::size_t bytes, bool also_uploads) const;

  std::vector<Transfer> under_way_;
};

}  // namespace fake_gpu
