// Where ranks meet: the address of rank 0's node, and ports that no other step has.
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "plan/concern.h"
#include "plan/port_pair.h"

using namespace lockstep::spank;

namespace {

struct Setup {
  Step step;
  Machine machine;
  Profile profile;
  UserOptions options;
  Environment environment;

  Setup() {
    step.job = "17";
    step.step = "3";
    step.rank0_node = "n1.cluster.org";
    step.rank0_note = "this node";
    step.reserved_ports = {41000, 41001, 41002};
  }
  Plan plan() const {
    Settings settings({options, environment, nullptr, profile, nullptr});
    set_rendezvous({step, machine, profile, nullptr, nullptr, TorchMode::automatic, {}, {}}, settings);
    return std::move(settings).take();
  }
};

std::string value(const Plan& plan, const char* variable) {
  const Decision* decision = plan.find(variable);
  return decision == nullptr ? "none" : decision->value.value_or("unset");
}

using Ids = std::tuple<std::int64_t, std::int64_t, int>;

int port_of(const Ids& ids) {
  Step step;
  step.job = std::to_string(std::get<0>(ids));
  step.step = std::to_string(std::get<1>(ids));
  step.restart = std::get<2>(ids);
  const auto pair = port_pair(step, Profile().port_first, Profile().port_last);
  REQUIRE(pair);
  REQUIRE(pair->first >= Profile().port_first);
  REQUIRE(pair->second <= Profile().port_last);
  REQUIRE(pair->second == pair->first + 1);
  return pair->first;
}

}  // namespace

TEST_CASE("reserved ports come first, and rank 0's node is the address", "[rendezvous]") {
  const Plan plan = Setup().plan();
  CHECK(value(plan, "MASTER_ADDR") == "n1.cluster.org");
  CHECK(value(plan, "MASTER_PORT") == "41000");
  CHECK(value(plan, "NCCL_RAS_ADDR") == "localhost:41001");
  CHECK(plan.find("MASTER_ADDR")->reason == "node of rank 0: this node");
  CHECK(plan.find("MASTER_ADDR")->source == Source::rule);
  CHECK(plan.find("MASTER_PORT")->reason ==
        "port 1 of 3 that Slurm reserved for this step (SLURM_STEP_RESV_PORTS)");
  CHECK(plan.findings.empty());
}

TEST_CASE("the profile's pattern makes the address", "[rendezvous]") {
  const std::map<std::string, std::string> patterns = {
      {"%h", "n1.cluster.org"},    {"%si", "n1i"},    {"ib-%s", "ib-n1"},
      {"%s.ib.org", "n1.ib.org"},  {"%%%s%", "%n1%"}, {"10.0.0.1", "10.0.0.1"},
      {"%x%h", "%xn1.cluster.org"}};
  for (const auto& [pattern, address] : patterns) {
    Setup setup;
    setup.profile.address = pattern;
    CHECK(value(setup.plan(), "MASTER_ADDR") == address);
  }
  Setup setup;
  setup.profile.address = "%si";
  CHECK(setup.plan().find("MASTER_ADDR")->source == Source::profile);
  setup.step.rank0_node = "n7";
  CHECK(value(setup.plan(), "MASTER_ADDR") == "n7i");
}

TEST_CASE("what the user has set stays, and is not complained about", "[rendezvous]") {
  Setup setup;
  setup.environment = {{"MASTER_ADDR", "mine"}, {"MASTER_PORT", "29500"}};
  setup.profile.address = "%si";
  setup.step.rank0_node.clear();
  const Plan plan = setup.plan();
  CHECK(value(plan, "MASTER_ADDR") == "mine");
  CHECK(value(plan, "MASTER_PORT") == "29500");
  CHECK(value(plan, "NCCL_RAS_ADDR") == "localhost:41001");
  CHECK(plan.findings.empty());
}

TEST_CASE("where the node of rank 0 is not known, no address is made up", "[rendezvous]") {
  Setup setup;
  setup.step.rank0_node.clear();
  setup.step.rank0_note = "the distribution is arbitrary";
  const Plan plan = setup.plan();
  CHECK(value(plan, "MASTER_ADDR") == "none");
  CHECK(value(plan, "MASTER_PORT") == "41000");
  REQUIRE(plan.findings.size() == 1);
  CHECK(plan.findings[0].severity == Finding::Severity::problem);
  CHECK(plan.findings[0].text ==
        "the node of rank 0 is not known, MASTER_ADDR is not set: the distribution is arbitrary");
  CHECK_FALSE(plan.findings[0].remedy.empty());
}

TEST_CASE("a requeued step meets at another of its reserved ports", "[rendezvous]") {
  Setup setup;
  setup.step.restart = 1;
  CHECK(*setup.plan().find("MASTER_PORT")->value == "41001");
  CHECK(*setup.plan().find("NCCL_RAS_ADDR")->value == "localhost:41002");
  setup.step.restart = 2;
  CHECK(*setup.plan().find("MASTER_PORT")->value == "41002");
  CHECK(*setup.plan().find("NCCL_RAS_ADDR")->value == "localhost:41000");
}

TEST_CASE("without reserved ports they follow from job, step and restart count", "[rendezvous]") {
  Setup setup;
  setup.step.reserved_ports.clear();
  const Plan plan = setup.plan();
  // Pair 17 * 32 + 3 * 2 + 0 of those from 20000 on.
  CHECK(value(plan, "MASTER_PORT") == "21100");
  CHECK(value(plan, "NCCL_RAS_ADDR") == "localhost:21101");
  CHECK(plan.find("MASTER_PORT")->reason ==
        "from job, step and restart count: Slurm has reserved no port for this step");
  CHECK(plan.findings.empty());

  setup.step.restart = 1;
  CHECK(value(setup.plan(), "MASTER_PORT") == "21102");
}

TEST_CASE("one reserved port is for the program, and NCCL's own is computed", "[rendezvous]") {
  Setup setup;
  setup.step.reserved_ports = {41000};
  CHECK(value(setup.plan(), "MASTER_PORT") == "41000");
  CHECK(value(setup.plan(), "NCCL_RAS_ADDR") == "localhost:21101");
  setup.step.reserved_ports = {21101};
  CHECK(value(setup.plan(), "NCCL_RAS_ADDR") == "localhost:21100");
}

TEST_CASE("a range of ports that the node gives away is told", "[rendezvous]") {
  Setup setup;
  setup.profile.port_first = 30000;
  setup.profile.port_last = 40000;
  CHECK(setup.plan().findings.empty());  // not used: the ports are reserved ones
  setup.step.reserved_ports.clear();
  const Plan plan = setup.plan();
  REQUIRE(plan.findings.size() == 1);
  CHECK(plan.findings[0].severity == Finding::Severity::advice);
  CHECK(
      plan.findings[0].text ==
      "ports 30000 to 40000 overlap with those that the node gives to outgoing connections (32768 to 60999)");
  CHECK(value(plan, "MASTER_PORT") != "none");
  for (const auto& [first, last] : {std::pair{30000, 32768}, {60999, 65000}, {40000, 41000}}) {
    setup.profile.port_first = first;
    setup.profile.port_last = last;
    CHECK(setup.plan().findings.size() == 1);
  }
  for (const auto& [first, last] : {std::pair{30000, 32767}, {61000, 65000}}) {
    setup.profile.port_first = first;
    setup.profile.port_last = last;
    CHECK(setup.plan().findings.empty());
  }
}

TEST_CASE("a range without two ports gives none", "[rendezvous]") {
  Setup setup;
  setup.step.reserved_ports.clear();
  setup.profile.port_first = setup.profile.port_last = 25000;
  const Plan plan = setup.plan();
  CHECK(value(plan, "MASTER_PORT") == "none");
  CHECK(value(plan, "NCCL_RAS_ADDR") == "none");
  REQUIRE(plan.findings.size() == 1);
  CHECK(plan.findings[0].severity == Finding::Severity::problem);
}

TEST_CASE("ports are never privileged ones, and always within the range", "[rendezvous]") {
  for (int job = 0; job < 500; ++job) {
    Step step;
    step.job = std::to_string(job);
    const auto low = port_pair(step, 1, 1100);
    REQUIRE(low);
    CHECK(low->first >= 1024);
    CHECK(low->second <= 1100);
    const auto high = port_pair(step, 65530, 70000);
    REQUIRE(high);
    CHECK(high->first >= 65530);
    CHECK(high->second <= 65535);
  }
  CHECK_FALSE(port_pair(Step(), 1, 1024));
  CHECK(port_pair(Step(), 1, 1025)->first == 1024);
  CHECK_FALSE(port_pair(Step(), 3000, 2000));
  CHECK_FALSE(port_pair(Step(), 70000, 80000));
}

TEST_CASE("ids that are no numbers, or huge ones, have ports too", "[rendezvous]") {
  Step step;
  for (const char* id : {"", "batch", "-1", "9223372036854775807", "99999999999999999999", "17+0"}) {
    step.job = step.step = id;
    step.restart = 1 << 24;
    const auto pair = port_pair(step, 20000, 31999);
    REQUIRE(pair);
    CHECK(pair->first >= 20000);
    CHECK(pair->second <= 31999);
  }
}

TEST_CASE("16 steps in each of 187 successive jobs, and their requeues, never share a port", "[rendezvous]") {
  for (const std::int64_t first_job : {std::int64_t{1}, std::int64_t{5'900}, std::int64_t{4'294'900'000}}) {
    for (const std::int64_t first_step : {0, 7, 1'000'000}) {
      for (const int first_restart : {0, 1, 5}) {
        std::set<int> ports;
        for (std::int64_t job = first_job; job < first_job + 187; ++job) {
          for (std::int64_t step = first_step; step < first_step + 16; ++step) {
            for (const int restart : {first_restart, first_restart + 1})
              ports.insert(port_of({job, step, restart}));
          }
        }
        CHECK(ports.size() == 187 * 16 * 2);
      }
    }
  }
}

TEST_CASE("5,999 successive jobs, or steps of a job, never share a port", "[rendezvous]") {
  std::set<int> of_jobs;
  std::set<int> of_steps;
  for (std::int64_t i = 0; i < 5'999; ++i) {
    of_jobs.insert(port_of({123'456 + i, 0, 0}));
    of_steps.insert(port_of({123'456, i, 0}));
  }
  CHECK(of_jobs.size() == 5'999);
  CHECK(of_steps.size() == 5'999);
}
