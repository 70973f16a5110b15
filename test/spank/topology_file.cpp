// NCCL_TOPO_FILE as a whole: who names the file, whether it fits, and what is then set or said.
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "../unit/temp_folder.h"
#include "core/error.h"
#include "plan/concern.h"
#include "topology/generate.h"
#include "topology/topology_path.h"
#include "topology_machines.h"

using namespace lockstep::spank;
using namespace lockstep::spank::test;
namespace fs = std::filesystem;

namespace {

constexpr const char* variable = "NCCL_TOPO_FILE";

struct Task {
  Step step = {};
  Machine machine = two_socket_machine();
  Profile profile = {};
  UserOptions options = {};
  Environment environment = {};
  NcclConf site_file = {};
  std::string temporary = {};

  Plan plan() const {
    Settings settings({options, environment, nullptr, profile, &site_file});
    set_topology({step, machine, profile, nullptr, &site_file, TorchMode::automatic, {}, temporary},
                 settings);
    return std::move(settings).take();
  }
};

std::string write(const fs::path& path, const std::string& text) {
  std::ofstream(path) << text;
  return path.string();
}

std::string value(const Plan& plan, const char* name = variable) {
  const Decision* decision = plan.find(name);
  return decision != nullptr && decision->value ? *decision->value : "(not set)";
}

// The one finding, as "text; remedy".
std::string finding(const Plan& plan) {
  REQUIRE(plan.findings.size() == 1);
  return plan.findings[0].text + "; " + plan.findings[0].remedy;
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("a profile's topology file is set where it fits the node", "[topology]") {
  const TempFolder folder;
  Task task;
  task.profile.topology = write(folder / "fits.xml", generate_topology(task.machine));
  const Plan plan = task.plan();
  REQUIRE(value(plan) == task.profile.topology);
  CHECK(plan.find(variable)->source == Source::profile);
  CHECK(plan.find(variable)->reason == "the profile's topology file, which fits this node");
  CHECK(plan.findings.empty());
}

TEST_CASE("a profile's topology file that NCCL would not use, or that does not fit, is named and not set",
          "[topology]") {
  const TempFolder folder;
  Task task;
  task.profile.name = "h100";
  SECTION("missing") {
    task.profile.topology = (folder / "none.xml").string();
    CHECK_THAT(finding(task.plan()),
               Catch::Contains("none.xml of profile h100: NCCL passes over it in silence: "
                               "No such file or directory; it is not set; mend the file"));
  }
  SECTION("ignored") {
    task.profile.topology = write(folder / "graphs.xml", "<graphs version=\"1\"/>");
    CHECK_THAT(finding(task.plan()), Catch::Contains("NCCL passes over it in silence: no <system> in it"));
  }
  SECTION("fatal") {
    task.profile.topology = write(folder / "prolog.xml", "<?xml version=\"1.0\"?>\n<system version=\"1\"/>");
    CHECK_THAT(finding(task.plan()), Catch::Contains("NCCL fails on it: line 1: an XML prolog"));
  }
  SECTION("another machine's") {
    Machine other = task.machine;
    other.devices[4].busid = "0000:1a:00.0";
    task.profile.topology = write(folder / "other.xml", generate_topology(other));
    CHECK_THAT(
        finding(task.plan()),
        Catch::Contains(
            "does not fit this node: it names GPU 0000:1a:00.0, which this node has not (and 1 more)"));
  }
  SECTION("no plain file") {
    REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);
    task.profile.topology = (folder / "fifo").string();
    CHECK_THAT(finding(task.plan()), Catch::Contains("no plain file"));
  }
  SECTION("too large") {
    task.profile.topology = write(folder / "large.xml", std::string(max_topology_bytes + 1, ' '));
    CHECK_THAT(finding(task.plan()), Catch::Contains("more than 4 MiB"));
  }
  const Plan plan = task.plan();
  CHECK(value(plan) == "(not set)");
  CHECK(plan.findings[0].severity == Finding::Severity::problem);
}

TEST_CASE("a node without GPUs is left in peace by the profile and the node's file", "[topology]") {
  Task task;
  task.machine = empty_machine();
  task.profile.topology = "/none.xml";
  task.site_file = {"/etc/nccl.conf", {{variable, "/none.xml", 3}}};
  const Plan plan = task.plan();
  CHECK(value(plan) == "/none.xml");
  CHECK(plan.findings.empty());
  task.profile.topology = "generate";
  CHECK(task.plan().findings.empty());
}

TEST_CASE("a node that could not be read in time gets the profile's file, but none that is generated",
          "[topology]") {
  const TempFolder folder;
  Task task;
  task.profile.topology = write(folder / "fits.xml", generate_topology(task.machine));
  task.machine.complete = false;
  task.machine.devices.erase(task.machine.devices.begin(), task.machine.devices.begin() + 6);
  CHECK(value(task.plan()) == task.profile.topology);
  CHECK(task.plan().findings.empty());
  task.profile.topology = "generate";
  CHECK(value(task.plan()) == "(not set)");
  CHECK_THAT(finding(task.plan()), Catch::Contains("could not be read in time"));
}

TEST_CASE("a file that somebody else named is checked and left as it is", "[topology]") {
  const TempFolder folder;
  Task task;
  const std::string good = write(folder / "good.xml", generate_topology(task.machine));
  const std::string bad = write(folder / "bad.xml", "<system version=\"2\"/>");
  SECTION("by the user's environment, before the profile's") {
    task.profile.topology = good;
    task.environment[variable] = bad;
    CHECK(value(task.plan()) == bad);
    CHECK_THAT(
        finding(task.plan()),
        Catch::Contains("bad.xml (environment): NCCL fails on it: line 1: version \"2\", but NCCL reads "
                        "version 1 alone; take it out by --nccl-unset=NCCL_TOPO_FILE"));
    task.environment[variable] = good;
    CHECK(task.plan().findings.empty());
  }
  SECTION("by an option, on a node without GPUs too") {
    task.machine = empty_machine();
    task.options.set = {{variable, bad}};
    CHECK(value(task.plan()) == bad);
    CHECK_THAT(finding(task.plan()), Catch::Contains("(--nccl-set): NCCL fails on it"));
  }
  SECTION("by the node's file, after the profile's") {
    task.site_file = {"/etc/nccl.conf", {{variable, bad, 3}}};
    CHECK(value(task.plan()) == bad);
    CHECK_THAT(finding(task.plan()),
               Catch::Contains("mend /etc/nccl.conf:3, or override it by --nccl-set=NCCL_TOPO_FILE=FILE"));
    task.profile.topology = good;
    CHECK(value(task.plan()) == good);
    CHECK(task.plan().findings.empty());
  }
  SECTION("by a constant of the profile") {
    task.profile.constants = {{variable, bad, 7}};
    CHECK(value(task.plan()) == bad);
    CHECK_THAT(finding(task.plan()), Catch::Contains("mend profile built-in"));
  }
  SECTION("an empty value switches the file off") {
    task.environment[variable] = "";
    CHECK(task.plan().findings.empty());
  }
  SECTION("taken out by an option, the profile's does not come back") {
    task.profile.topology = good;
    task.options.unset = {variable};
    CHECK(value(task.plan()) == "(not set)");
  }
}

TEST_CASE("a generated file is written once, for this user alone, and fits", "[topology]") {
  const TempFolder folder;
  Task task;
  task.profile.topology = "generate";
  task.temporary = folder.path().string();
  const std::string path = value(task.plan());
  CHECK(fs::path(path).parent_path() == folder.path());
  CHECK(text_of(path) == generate_topology(task.machine));
  struct stat first {};
  REQUIRE(::stat(path.c_str(), &first) == 0);
  CHECK((first.st_mode & 077) == 0);
  CHECK(task.plan().findings.empty());
  CHECK(value(task.plan()) == path);
  struct stat again {};
  REQUIRE(::stat(path.c_str(), &again) == 0);
  CHECK(first.st_ino == again.st_ino);
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("a file in the generated one's place that cannot be trusted is replaced", "[topology]") {
  const TempFolder folder;
  Task task;
  const std::string text = generate_topology(task.machine);
  const fs::path path = folder / generated_name(text);
  SECTION("another text") {
    write(path, "<system version=\"1\"/>");
  }
  SECTION("others may write to it") {
    write(path, text);
    REQUIRE(::chmod(path.c_str(), 0666) == 0);
  }
  SECTION("somebody else's") {
    write(path, text);
    REQUIRE(::chmod(path.c_str(), 0600) == 0);
    if (::geteuid() != 0) return;  // nobody gives a file away
    REQUIRE(::chown(path.c_str(), 65534, 65534) == 0);
  }
  SECTION("a link") {
    write(folder / "elsewhere", text);
    fs::create_symlink(folder / "elsewhere", path);
  }
  CHECK(place_generated(folder.path(), text) == path);
  CHECK(text_of(path) == text);
  struct stat status {};
  REQUIRE(::lstat(path.c_str(), &status) == 0);
  CHECK(S_ISREG(status.st_mode));
  CHECK((status.st_mode & 077) == 0);
  CHECK(status.st_uid == ::geteuid());
}

TEST_CASE("a generated file that cannot be written is said, and nothing is set or left behind",
          "[topology]") {
  const TempFolder folder;
  Task task;
  task.profile.topology = "generate";
  task.temporary = folder.path().string();
  const std::string text = generate_topology(task.machine);
  for (int further = 0; further < 8; ++further) {
    fs::create_directories(folder / generated_name(text, further) / "inner");
  }
  const Plan plan = task.plan();
  CHECK(value(plan) == "(not set)");
  CHECK_THAT(finding(plan), Catch::Contains("no topology file is generated: cannot write"));
  CHECK_THAT(finding(plan), Catch::Contains("what is there belongs to user " + std::to_string(::geteuid())));
  for (const auto& entry : fs::directory_iterator(folder.path())) CHECK(entry.is_directory());
}

TEST_CASE("where a name is taken and cannot be freed the next one is used, again and again", "[topology]") {
  const TempFolder folder;
  const std::string text = generate_topology(two_socket_machine());
  fs::create_directories(folder / generated_name(text) / "inner");
  const fs::path next = folder / generated_name(text, 1);
  CHECK(next.filename().string().ends_with("-1.xml"));
  CHECK(place_generated(folder.path(), text) == next);
  CHECK(text_of(next) == text);
  CHECK(place_generated(folder.path(), text) == next);
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 2);
}

TEST_CASE("where the folder does not exist the other one is used", "[topology]") {
  const TempFolder folder;
  const std::string text = generate_topology(two_socket_machine());
  const fs::path path = folder / generated_name(text);
  CHECK(place_generated(folder / "none", text, folder.path()) == path);
  write(folder / "file", "");
  CHECK(place_generated(folder / "file", text, folder.path()) == path);
  CHECK_THROWS_AS(place_generated(folder / "none", text, folder / "neither"), lockstep::Error);
}

TEST_CASE("without a folder for it the name of the file alone is told", "[topology]") {
  Task task;
  task.profile.topology = "generate";
  REQUIRE(value(task.plan()) == generated_name(generate_topology(task.machine)));
  CHECK(task.plan().find(variable)->reason == "would be written from sysfs for this node");
}

TEST_CASE("the trainer is told the switches above the node, where Slurm knows them", "[topology]") {
  Task task;
  CHECK(task.plan().find("LOCKSTEP_TOPOLOGY") == nullptr);
  task.step.topology_address = "root.s0.n1";
  task.step.topology_pattern = "switch.switch.node";
  CHECK(value(task.plan(), "LOCKSTEP_TOPOLOGY") == "root/s0");
}
