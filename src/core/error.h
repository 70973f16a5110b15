// Errors as exceptions inside, exit codes outside.
#pragma once

#include <stdexcept>
#include <string>

namespace lockstep {

// How a process of a run ends (contract C5; docs/errors.md). The values below 74 follow sysexits.h.
enum class ExitCode : int {
  finished = 0,        // done, also at once when a finished run is started again
  usage = 64,          // wrong command line
  bad_data = 65,       // the data are not what they claim to be
  missing_input = 66,  // a file or folder that was named does not exist
  internal = 70,       // a fault of ours, or one that cannot be attributed
  cannot_create = 73,  // an output cannot be written, or the run folder belongs to another job
  requeue = 75,        // saved; start me again
  peer_failed = 76,    // another rank or node failed, or hangs
  bad_config = 78,     // the configuration cannot work
};

// Carries the exit code that the process ends with when nobody handles it. The text says what failed,
// where, and what to do about it, in one line.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& text) : std::runtime_error(text), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

// An error that every rank throws with the same text: one rank is enough to tell it, and the ranks may end in
// order.
class AgreedError : public Error {
 public:
  using Error::Error;
};

}  // namespace lockstep
