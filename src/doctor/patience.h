// Work that may never come back, such as a call into a file system that does not answer: done in a thread
// that is left behind when the time is up.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "doctor/facts.h"

namespace lockstep::doctor {

class Patience {
 public:
  explicit Patience(double limit) : limit_(limit) {}

  // What `work` returns or throws; Error(peer_failed) that begins with `what` where it takes longer than the
  // limit. From then on every call fails at once: the next one would wait for the same. `work` owns what it
  // uses.
  Facts run(std::string_view what, const std::function<Facts()>& work);

  // Throws as run() does where something has not come back.
  void require_answers(std::string_view what) const;

  // Some work never came back: its thread is still there, and would outlive main().
  bool lost() const { return !lost_.empty(); }
  double limit() const { return limit_; }

 private:
  double limit_;
  std::string lost_;  // what it was
};

}  // namespace lockstep::doctor
