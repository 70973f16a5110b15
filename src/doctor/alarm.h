// The end of a process that is stuck where nothing else can give up: in MPI's start, and in calls of MPI that
// know no time limit.
#pragma once

#include <string>
#include <thread>

namespace lockstep::doctor {

class Alarm {
 public:
  // After `seconds` one line with `text` goes to standard error, and the process ends with exit code 76; not,
  // if the alarm is destroyed before.
  Alarm(double seconds, std::string text);

 private:
  std::jthread thread_;
};

}  // namespace lockstep::doctor
