// The whole way from facts to plan.
#include "plan/make_plan.h"

#include <catch2/catch.hpp>

#include "plan/applied.h"

using namespace lockstep::spank;

namespace {

struct Inputs {
  Step step;
  Machine machine;
  Environment environment;
  UserOptions options;
  Profile profile;
  bool tell_all = false;

  Inputs() {
    step.job = "7";
    step.step = "1";
    step.rank0_node = step.node = "n1";
    step.reserved_ports = {41000, 41001};
  }
  Plan plan() const {
    return make_plan({step, machine, environment, options, profile, 0, nullptr, nullptr, "", "", tell_all});
  }
};

std::string value(const Plan& plan, const char* variable) {
  const Decision* decision = plan.find(variable);
  return decision != nullptr && decision->value ? *decision->value : "(not set)";
}

}  // namespace

TEST_CASE("a list of reserved ports that came from an outer step is not this step's", "[plan]") {
  Inputs inputs;
  CHECK(value(inputs.plan(), "MASTER_PORT") == "41000");
  inputs.environment["MASTER_PORT"] = "41000";
  inputs.environment[applied_variable] = describe_applied({{"MASTER_PORT", "41000"}});
  const Plan plan = inputs.plan();
  CHECK(value(plan, "MASTER_PORT") != "41000");
  CHECK(value(plan, "NCCL_RAS_ADDR") != "localhost:41001");
  // Its own list: the outer step's port is not in it.
  inputs.step.reserved_ports = {41002, 41003};
  CHECK(value(inputs.plan(), "MASTER_PORT") == "41002");
}

TEST_CASE("what ails a node's network is no news for a step without GPUs", "[plan]") {
  Inputs inputs;
  inputs.machine.complete = false;
  CHECK(inputs.plan().findings.empty());
  inputs.step.gpus_on_node = 2;
  CHECK(inputs.plan().findings.size() == 1);
  inputs.step.visible_gpus = 0;
  CHECK(inputs.plan().findings.empty());
  inputs.tell_all = true;
  CHECK(inputs.plan().findings.size() == 1);
}

TEST_CASE("one task alone is told how to get PyTorch's ranks", "[plan]") {
  Inputs inputs;
  const Plan plan = inputs.plan();
  CHECK(value(plan, "RANK") == "(not set)");
  REQUIRE(plan.find("RANK") != nullptr);
  CHECK(plan.find("RANK")->reason == "one task only: --nccl-torch=on sets PyTorch's ranks all the same");
  inputs.options.torch = TorchMode::on;
  CHECK(value(inputs.plan(), "RANK") == "0");
}
