// Runs one concern on a node, with what a test wants to be different.
#pragma once

#include <string>

#include "machine/machine.h"
#include "plan/concern.h"

namespace lockstep::spank::test {

struct PlanFixture {
  Machine machine;
  Step step;
  Profile profile;
  UserOptions options;
  Environment environment;
  std::string site_file;  // text of /etc/nccl.conf, a variable a line

  explicit PlanFixture(Machine node) : machine(std::move(node)) {
    step.nodes = 2;
    profile.name = "test";
  }

  Plan plan_of(Concern concern) const;
};

// The value in effect; "(not set)" where there is none.
std::string value(const Plan& plan, std::string_view variable);
// Why; empty where there is no decision.
std::string reason(const Plan& plan, std::string_view variable);
// One line each: "advice: TEXT" or "problem: TEXT".
std::string findings(const Plan& plan);

}  // namespace lockstep::spank::test
