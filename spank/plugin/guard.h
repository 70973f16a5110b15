// No exception leaves a callback: Slurm is C, and one that escapes ends the step daemon and can drain the
// node.
#pragma once

#include <exception>

#include "plugin/log.h"

namespace lockstep::spank {

// Tells of the exception in one line that names the callback.
void tell_of_exception(const char* callback, const char* what) noexcept;

// What `body` returns; where it throws, one line is logged and `failed()` says what Slurm is told.
template <typename Body, typename Failed>
int guard(const char* callback, Body&& body, Failed&& failed) noexcept {
  try {
    return body();
  } catch (const std::exception& error) {
    tell_of_exception(callback, error.what());
  } catch (...) {
    tell_of_exception(callback, "unknown exception");
  }
  return failed();
}

}  // namespace lockstep::spank
