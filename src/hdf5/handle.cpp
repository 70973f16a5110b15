#include "hdf5/handle.h"

#include <fmt/format.h>

#include <string>

namespace lockstep::hdf5 {

std::unique_lock<std::recursive_mutex> lock() {
  static std::recursive_mutex mutex;
  // HDF5 prints its error stack by itself unless told not to; we put it into our own message.
  static const bool quiet = H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) >= 0;
  (void)quiet;
  return std::unique_lock(mutex);
}

namespace {

// With H5E_WALK_UPWARD the innermost record comes first: it names the true reason.
herr_t take_innermost(unsigned depth, const H5E_error2_t* record, void* text) {
  if (depth == 0 && record->desc != nullptr) *static_cast<std::string*>(text) = record->desc;
  return 0;
}

}  // namespace

void raise(ExitCode code, std::string_view what) {
  std::string reason;
  const auto guard = lock();
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_innermost, &reason);
  H5Eclear2(H5E_DEFAULT);
  throw Error(code,
              reason.empty() ? fmt::format("cannot {}", what) : fmt::format("cannot {}: {}", what, reason));
}

}  // namespace lockstep::hdf5
