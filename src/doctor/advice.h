// What the facts mean for the run, in words: one line each, with the key, flag or variable that helps.
#pragma once

#include <string>
#include <vector>

#include "doctor/communication.h"
#include "doctor/probe.h"

namespace lockstep::doctor {

// From data alone. Says nothing about what was not measured.
std::vector<std::string> advise(const Findings& findings);

// Seconds for a sum of `bytes`, between and beyond the sizes that were measured, of which there is one at
// least.
double sum_seconds(const std::vector<SumTime>& times, double bytes);

}  // namespace lockstep::doctor
