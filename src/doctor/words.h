// The examination's result for people, and for programs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "doctor/probe.h"

namespace lockstep::doctor {

struct Report {
  std::vector<Section> sections;
  std::vector<std::string> advice;

  ExitCode code() const;
};

std::string to_words(const Report& report);

// {"exit_code": 0, "sections": [{"name", "rows": {name: text}, "warnings", "failures", "ranks": [{"rank",
// "node", "problem", and what was found, numbers as numbers}]}], "advice": [text]}
std::string to_json(const Report& report);

// Adds the problems of the section's ranks to its failures, equal ones once.
void tell_problems(Section& section);

}  // namespace lockstep::doctor
