#include "step/hostlist.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>

#include "../unit/temp_folder.h"
#include "core/subprocess.h"
#include "core/text.h"

using namespace lockstep;
using namespace lockstep::spank;
using namespace std::chrono_literals;

namespace {

struct Known {
  const char* list;
  std::vector<std::string> hosts;
};

// What `scontrol show hostnames` of Slurm 22.05 prints; below it is asked again where it is installed.
const std::vector<Known>& known_lists() {
  static const std::vector<Known> lists = {
      {"n", {"n"}},
      {"n01", {"n01"}},
      {"n[1-3]", {"n1", "n2", "n3"}},
      {"n[1,3,5-7]", {"n1", "n3", "n5", "n6", "n7"}},
      {"n[001-003]", {"n001", "n002", "n003"}},
      {"n[9-11]", {"n9", "n10", "n11"}},
      {"n[09-11]", {"n09", "n10", "n11"}},
      {"n[8-010]", {"n8", "n9", "n10"}},
      {"n[98-101]", {"n98", "n99", "n100", "n101"}},
      {"n[5-05]", {"n5"}},
      {"n[01-1]", {"n01"}},
      {"n[001-01]", {"n001"}},
      {"n[0-0]", {"n0"}},
      {"n[000-000]", {"n000"}},
      {"n[2,01]", {"n2", "n01"}},
      {"n[3,1,2]", {"n3", "n1", "n2"}},
      {"n[1-3,2]", {"n1", "n2", "n3", "n2"}},
      {"n[1-2],n[2-3]", {"n1", "n2", "n2", "n3"}},
      {"n1,n1", {"n1", "n1"}},
      {",n1", {"n1"}},
      {"n1,", {"n1"}},
      {"n1,,n2", {"n1", "n2"}},
      {"n1 n2", {"n1", "n2"}},
      {" n1\tn2\nn3 ", {"n1", "n2", "n3"}},
      {"[1-3]", {"1", "2", "3"}},
      {"a,[1-2]", {"a", "1", "2"}},
      {"a-b[1-2]", {"a-b1", "a-b2"}},
      {"n-[1-2]", {"n-1", "n-2"}},
      {"a.b-c.d[8-9]", {"a.b-c.d8", "a.b-c.d9"}},
      {"rack[1-2]-n[01-02],login3", {"rack1-n01", "rack1-n02", "rack2-n01", "rack2-n02", "login3"}},
      {"tux[1-2]x[3-4]", {"tux1x3", "tux1x4", "tux2x3", "tux2x4"}},
      {"n[1-2][3-4]", {"n13", "n14", "n23", "n24"}},
      {"[1-2]b[1-2]", {"1b1", "1b2", "2b1", "2b2"}},
      {"a[1-2]b[3-4]c[5-6]",
       {"a1b3c5", "a1b3c6", "a2b3c5", "a2b3c6", "a1b4c5", "a1b4c6", "a2b4c5", "a2b4c6"}},
      {"a[3,1]b[2,1]c[02,1]",
       {"a3b2c02", "a3b2c1", "a1b2c02", "a1b2c1", "a3b1c02", "a3b1c1", "a1b1c02", "a1b1c1"}},
      {"k1,k[1-2][1-2][1-2]", {"k1", "k111", "k112", "k211", "k212", "k121", "k122", "k221", "k222"}},
      {"n{1,2}", {"n{1", "2}"}},
      {"n(1-2)", {"n(1-2)"}},
      {"@n1;n2", {"@n1;n2"}},
      {"n[10-10],m[07]", {"n10", "m07"}},
      {"n[999999-1000001]", {"n999999", "n1000000", "n1000001"}},
      {"", {}},
      {",, ,", {}},
  };
  return lists;
}

// Asks the real one about all lists at once: a marker no list can hold keeps their hosts apart.
class Scontrol {
 public:
  Scontrol() {
    std::ofstream(folder_ / "slurm.conf")
        << "ClusterName=none\nSlurmctldHost=localhost\nNodeName=localhost\n";
    if (const char* old = ::getenv("SLURM_CONF")) old_ = old;
    ::setenv("SLURM_CONF", (folder_ / "slurm.conf").c_str(), 1);
  }
  ~Scontrol() {
    if (old_) {
      ::setenv("SLURM_CONF", old_->c_str(), 1);
    } else {
      ::unsetenv("SLURM_CONF");
    }
  }
  Scontrol(const Scontrol&) = delete;
  Scontrol& operator=(const Scontrol&) = delete;

  // Nothing where there is no scontrol.
  static std::optional<std::vector<std::vector<std::string>>> expand(const std::vector<std::string>& lists) {
    std::string all;
    for (const std::string& list : lists) all += list + ",=next=,";
    const CommandResult result = run_command({"scontrol", "show", "hostnames", all}, 60s);
    if (result.exit_code == 127) return std::nullopt;
    INFO(result.output.substr(0, 500));
    REQUIRE(result.ok());
    std::vector<std::vector<std::string>> hosts(1);
    for (const std::string& line : split(result.output, '\n')) {
      if (line == "=next=") {
        hosts.emplace_back();
      } else if (!line.empty()) {
        hosts.back().push_back(line);
      }
    }
    hosts.pop_back();
    return hosts;
  }

 private:
  TempFolder folder_;
  std::optional<std::string> old_;
};

std::string random_list(std::mt19937& random) {
  const auto below = [&](unsigned bound) { return static_cast<unsigned>(random() % bound); };
  const auto number = [&](unsigned value) {
    return below(3) == 0 ? fmt::format("{:0{}}", value, 1 + below(5)) : std::to_string(value);
  };
  std::string list;
  for (unsigned entry = 0, entries = 1 + below(3); entry < entries; ++entry) {
    if (entry != 0) list += ",";
    list += std::string("abn") + (below(2) == 0 ? "-" : "");
    for (unsigned group = 0, groups = below(5); group < groups; ++group) {
      if (group != 0 && below(2) == 0) list += fmt::format("x{}y", below(10));
      list += "[";
      for (unsigned part = 0, parts = 1 + below(3); part < parts; ++part) {
        if (part != 0) list += ",";
        const unsigned first = below(below(2) == 0 ? 12 : 1200);
        list += number(first);
        if (below(2) == 0) list += "-" + number(first + below(4));
      }
      list += "]";
    }
  }
  return list;
}

std::string error_of(const std::string& list) {
  try {
    expand_hostlist(list);
  } catch (const HostlistError& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("host lists expand as scontrol's recorded answers say", "[hostlist]") {
  for (const Known& known : known_lists()) {
    INFO(known.list);
    CHECK(expand_hostlist(known.list) == known.hosts);
    const auto first = first_host(known.list);
    CHECK(first.has_value() == !known.hosts.empty());
    if (first) CHECK(*first == known.hosts.front());
  }
}

TEST_CASE("the installed scontrol agrees on recorded and on random host lists", "[hostlist]") {
  const Scontrol scontrol;
  std::vector<std::string> lists;
  for (const Known& known : known_lists()) lists.emplace_back(known.list);
  std::mt19937 random(20240607);
  while (lists.size() < 600) lists.push_back(random_list(random));
  const auto answers = scontrol.expand(lists);
  if (!answers) {
    WARN("no scontrol here: only its recorded answers were compared");
    return;
  }
  REQUIRE(answers->size() == lists.size());
  for (std::size_t i = 0; i < lists.size(); ++i) {
    INFO(lists[i]);
    CHECK(expand_hostlist(lists[i]) == (*answers)[i]);
  }
}

// Slurm 22.05 refuses text after the last bracket; newer ones, and people, do write it.
TEST_CASE("brackets may be followed by a suffix", "[hostlist]") {
  CHECK(expand_hostlist("n[1-2]-ib") == std::vector<std::string>{"n1-ib", "n2-ib"});
  CHECK(expand_hostlist("n[08-09].x.org,k") == std::vector<std::string>{"n08.x.org", "n09.x.org", "k"});
  CHECK(expand_hostlist("a[1-2]b[3-4]c") == std::vector<std::string>{"a1b3c", "a1b4c", "a2b3c", "a2b4c"});
  CHECK(first_host("n[7-9]-ib,m") == "n7-ib");
}

// scontrol makes hosts of some of these, such as "n]" of "n[1" and "n01" of "n[ 1]": nobody's hosts.
TEST_CASE("malformed host lists are refused with the place", "[hostlist]") {
  CHECK(error_of("n[3-1]") == "host list, character 3: the range runs backwards");
  CHECK(error_of("n[010-9]") == "host list, character 3: the range runs backwards");
  CHECK(error_of("a,n[1-2") == "host list, character 4: '[' without ']'");
  CHECK(error_of("n1]") == "host list, character 3: ']' without '['");
  CHECK(error_of("n[[1]]") == "host list, character 3: want a number in brackets");
  for (const char* list :
       {"n[", "n[]", "n[1-]", "n[-1]", "n[1,]", "n[,1]", "n[1,,2]", "n[a-b]", "n[1-2-3]", "n[1:2]", "n[ 1]",
        "n[1 ]", "n[+1]", "n[0x1]", "n[1-2]]", "n\x01", "n\x7f", "n\xc3\xa4", "n[1\n]"}) {
    INFO(list);
    CHECK_THROWS_AS(expand_hostlist(list), HostlistError);
    CHECK_THROWS_AS(first_host(list), HostlistError);
  }
  CHECK_THROWS_AS(expand_hostlist("n[1-9999999999999999999]"), HostlistError);
  CHECK_THROWS_AS(expand_hostlist(std::string_view("n\0m", 3)), HostlistError);
}

TEST_CASE("100,000 hosts expand in well under a second", "[hostlist]") {
  const auto begin = std::chrono::steady_clock::now();
  const auto hosts = expand_hostlist("rack[000-999]-n[00-99]");
  CHECK(std::chrono::steady_clock::now() - begin < 1s);
  REQUIRE(hosts.size() == 100'000);
  CHECK(hosts.front() == "rack000-n00");
  CHECK(hosts[101] == "rack001-n01");
  CHECK(hosts.back() == "rack999-n99");

  std::string listed = "n[0";
  for (int i = 1; i < 100'000; ++i) listed += "," + std::to_string(i);
  listed += "]";
  const auto one_by_one = std::chrono::steady_clock::now();
  CHECK(expand_hostlist(listed).back() == "n99999");
  CHECK(std::chrono::steady_clock::now() - one_by_one < 1s);
}

TEST_CASE("the first host costs nothing, however long the list", "[hostlist]") {
  CHECK(first_host("a[1-1000][1-1000][1-1000][1-1000][1-1000][1-1000][1-1000][1-1000]") == "a11111111");
}

TEST_CASE("a host list cannot take memory without bound", "[hostlist]") {
  CHECK(expand_hostlist("n[1-10]", 10).size() == 10);
  CHECK_THROWS_WITH(expand_hostlist("n[1-10],m", 10), "host list: it names more than 10 hosts");
  CHECK_THROWS_AS(expand_hostlist("n", 0), HostlistError);
  CHECK_THROWS_AS(expand_hostlist("n[1-999999999999999999]"), HostlistError);
  CHECK_THROWS_AS(expand_hostlist("n[0-999999][0-999999][0-999999][0-999999]"), HostlistError);
  CHECK_THROWS_AS(expand_hostlist(std::string(256, 'n')), HostlistError);
  CHECK_THROWS_AS(expand_hostlist(std::string(200, 'n') + "[1-2]" + std::string(200, 'n')), HostlistError);
  std::string groups;
  for (int i = 0; i < 1000; ++i) groups += "[1]";
  CHECK_THROWS_AS(expand_hostlist(groups), HostlistError);
  CHECK_THROWS_AS(expand_hostlist(std::string((4 << 20) + 1, ',')), HostlistError);
}
