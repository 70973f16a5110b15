#include "plan/user_options.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

using namespace lockstep::spank;
using Catch::Matchers::Contains;

namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

}  // namespace

TEST_CASE("a comma begins a new pair only where a key follows") {
  CHECK(parse_assignments("NCCL_DEBUG=INFO") == Pairs{{"NCCL_DEBUG", "INFO"}});
  CHECK(parse_assignments("NCCL_IB_HCA==mlx5_0,mlx5_1") == Pairs{{"NCCL_IB_HCA", "=mlx5_0,mlx5_1"}});
  CHECK(parse_assignments("A=1,B=2,3,C=") == Pairs{{"A", "1"}, {"B", "2,3"}, {"C", ""}});
  CHECK(parse_assignments("A=x,b=y,_C1=z") == Pairs{{"A", "x,b=y"}, {"_C1", "z"}});
  CHECK(parse_assignments("A=,B") == Pairs{{"A", ",B"}});
  CHECK(parse_assignments("A=1,,B=2") == Pairs{{"A", "1,"}, {"B", "2"}});
  CHECK(parse_assignments("NCCL_NET=AWS Libfabric") == Pairs{{"NCCL_NET", "AWS Libfabric"}});
}

TEST_CASE("what is no assignment is refused with the place") {
  for (const char* text : {"", "=1", "A", "a=1", "1A=2", "A B=1", ",A=1", "-A=1"}) {
    INFO(text);
    CHECK_THROWS_WITH(parse_assignments(text), Contains("want KEY=VALUE"));
  }
  CHECK_THROWS_WITH(parse_assignments("A=1,A=2"), Contains("A is given twice"));
  CHECK_THROWS_WITH(parse_assignments("A=1\n"), Contains("control characters"));
  CHECK_THROWS_WITH(parse_assignments("A=" + std::string(1000, 'x')), Contains("1000 bytes"));
  CHECK_NOTHROW(parse_assignments("A=" + std::string(999, 'x')));
  CHECK_THROWS_WITH(parse_assignments("LOCKSTEP_NCCL_APPLIED=x"), Contains("belongs to the plugin"));
}

TEST_CASE("names are separated by commas and checked") {
  CHECK(parse_names("NCCL_IB_HCA") == std::vector<std::string>{"NCCL_IB_HCA"});
  CHECK(parse_names("A,B_2") == std::vector<std::string>{"A", "B_2"});
  for (const char* text : {"", ",", "A,", ",A", "A,,B", "a", "A=1", "A B"}) {
    INFO(text);
    CHECK_THROWS_WITH(parse_names(text), Contains("want KEY[,KEY...]"));
  }
}

TEST_CASE("a mode that does not exist is refused with what was meant") {
  GivenOptions given;
  CHECK_THROWS_WITH(given.give(UserOption::mode, "of"),
                    Contains("--nccl=of: want one of auto, off, show, warn, strict") && Contains("'off'"));
  CHECK_THROWS_WITH(given.give(UserOption::torch, "yes"),
                    Contains("--nccl-torch=yes: want one of auto, on, off"));
  CHECK(given.find(UserOption::mode) == nullptr);
}

TEST_CASE("a list option that is given twice is refused, a mode may be corrected") {
  GivenOptions given;
  given.give(UserOption::set, "A=1");
  CHECK_NOTHROW(given.give(UserOption::set, "A=1"));
  CHECK_THROWS_WITH(given.give(UserOption::set, "B=2"), Contains("write one: --nccl-set=A=1,B=2"));
  CHECK(*given.find(UserOption::set) == "A=1");
  given.give(UserOption::mode, "off");
  given.give(UserOption::mode, "show");
  CHECK(*given.find(UserOption::mode) == "show");
}

TEST_CASE("a command's own list replaces the one that it inherits") {
  GivenOptions given;
  given.inherit(UserOption::unset, "A");
  CHECK(*given.find(UserOption::unset) == "A");
  CHECK_NOTHROW(given.give(UserOption::unset, "B"));
  CHECK(*given.find(UserOption::unset) == "B");
  CHECK_THROWS_WITH(given.give(UserOption::unset, "C"), Contains("given twice"));
}

TEST_CASE("an option replaces its variable") {
  const Environment environment{{"LOCKSTEP_NCCL", "off"},
                                {"LOCKSTEP_NCCL_SET", "A=1"},
                                {"LOCKSTEP_NCCL_UNSET", "B,C"},
                                {"LOCKSTEP_NCCL_TORCH", "on"}};
  const AskedFor by_variable = read_user_options({}, environment);
  CHECK(by_variable.complaints.empty());
  CHECK(by_variable.options.mode == Mode::off);
  CHECK(by_variable.options.torch == TorchMode::on);
  CHECK(by_variable.options.set == Pairs{{"A", "1"}});
  CHECK(by_variable.options.unset == std::vector<std::string>{"B", "C"});

  GivenOptions given;
  given.give(UserOption::mode, "strict");
  given.give(UserOption::set, "B=2");
  given.give(UserOption::torch, "off");
  const AskedFor asked = read_user_options(given, environment);
  CHECK(asked.complaints.empty());
  CHECK(asked.options.mode == Mode::strict);
  CHECK(asked.options.torch == TorchMode::off);
  CHECK(asked.options.set == Pairs{{"B", "2"}});
  CHECK(asked.options.unset == std::vector<std::string>{"C"});
}

TEST_CASE("an option that unsets a key takes it out of the variable's list") {
  GivenOptions given;
  given.give(UserOption::unset, "A");
  const AskedFor asked = read_user_options(given, {{"LOCKSTEP_NCCL_SET", "A=1,B=2"}});
  CHECK(asked.complaints.empty());
  CHECK(asked.options.set == Pairs{{"B", "2"}});
  CHECK(asked.options.unset == std::vector<std::string>{"A"});
}

TEST_CASE("a variable that cannot be read is complained of and left out") {
  const AskedFor asked = read_user_options(
      {}, {{"LOCKSTEP_NCCL", "loud"}, {"LOCKSTEP_NCCL_SET", "a=1"}, {"LOCKSTEP_NCCL_TORCH", ""}});
  REQUIRE(asked.complaints.size() == 2);
  CHECK_THAT(asked.complaints[0], Contains("LOCKSTEP_NCCL=loud: want one of"));
  CHECK_THAT(asked.complaints[1], Contains("LOCKSTEP_NCCL_SET=a=1: want KEY=VALUE"));
  CHECK(asked.options.mode == Mode::off);
  CHECK_FALSE(asked.options.torch);
  CHECK(asked.options.set.empty());
}

TEST_CASE("a key that is both set and unset in one breath counts for neither") {
  GivenOptions given;
  SECTION("by options that nobody has checked") {
    given.inherit(UserOption::set, "A=1,B=2");
    given.inherit(UserOption::unset, "A,C");
    if (GENERATE(false, true)) {
      given.claim(UserOption::set);
      given.claim(UserOption::unset);
    }
    const AskedFor asked = read_user_options(given, {});
    REQUIRE(asked.complaints.size() == 1);
    CHECK_THAT(asked.complaints[0], Contains("A is both set and unset"));
    CHECK(asked.options.set == Pairs{{"B", "2"}});
    CHECK(asked.options.unset == std::vector<std::string>{"C"});
  }
  SECTION("by variables") {
    const AskedFor asked =
        read_user_options({}, {{"LOCKSTEP_NCCL_SET", "A=1,B=2"}, {"LOCKSTEP_NCCL_UNSET", "A,C"}});
    REQUIRE(asked.complaints.size() == 1);
    CHECK(asked.complaints[0] ==
          "LOCKSTEP_NCCL_SET and LOCKSTEP_NCCL_UNSET: A is both set and unset; take one of them away");
    CHECK(asked.options.set == Pairs{{"B", "2"}});
    CHECK(asked.options.unset == std::vector<std::string>{"C"});
  }
}

TEST_CASE("one command that sets and unsets a key is refused, in either order") {
  GivenOptions given;
  SECTION("set first") {
    given.give(UserOption::set, "A=1,B=2");
    CHECK_THROWS_WITH(given.give(UserOption::unset, "C,A"), Contains("A is both set and unset"));
    CHECK(given.find(UserOption::unset) == nullptr);
    CHECK_NOTHROW(given.give(UserOption::unset, "C"));
  }
  SECTION("unset first") {
    given.give(UserOption::unset, "A");
    CHECK_THROWS_WITH(given.give(UserOption::set, "A="), Contains("A is both set and unset"));
    CHECK_NOTHROW(given.give(UserOption::set, "B="));
  }
  SECTION("not where one of the two is the outer command's") {
    given.inherit(UserOption::set, "A=1");
    CHECK_NOTHROW(given.give(UserOption::unset, "A"));
  }
}

TEST_CASE("the inner command's option wins in silence, key by key") {
  GivenOptions given;
  given.inherit(UserOption::set, "A=1,B=2");
  given.inherit(UserOption::unset, "A,C");
  SECTION("it unsets") {
    given.claim(UserOption::unset);
    const AskedFor asked = read_user_options(given, {});
    CHECK(asked.complaints.empty());
    CHECK(asked.options.set == Pairs{{"B", "2"}});
    CHECK(asked.options.unset == std::vector<std::string>{"A", "C"});
  }
  SECTION("it sets") {
    given.claim(UserOption::set);
    const AskedFor asked = read_user_options(given, {});
    CHECK(asked.complaints.empty());
    CHECK(asked.options.set == Pairs{{"A", "1"}, {"B", "2"}});
    CHECK(asked.options.unset == std::vector<std::string>{"C"});
  }
  SECTION("nothing can be claimed that was not given") {
    given.claim(UserOption::mode);
    CHECK_FALSE(given.is_own(UserOption::mode));
  }
}

TEST_CASE("modes are words in any case") {
  const AskedFor asked = read_user_options({}, {{"LOCKSTEP_NCCL", "OFF"}, {"LOCKSTEP_NCCL_TORCH", "On"}});
  CHECK(asked.complaints.empty());
  CHECK(asked.options.mode == Mode::off);
  CHECK_FALSE(asked.mode_is_unclear);
  CHECK(asked.options.torch == TorchMode::on);
  GivenOptions given;
  CHECK_NOTHROW(given.give(UserOption::mode, "Strict"));
  CHECK(read_user_options(given, {}).options.mode == Mode::strict);
}

TEST_CASE("a mode that is none is off, whoever has given it, unless an option says better") {
  const Environment environment{{"LOCKSTEP_NCCL", "offf"}};
  const AskedFor asked = read_user_options({}, environment);
  CHECK(asked.options.mode == Mode::off);
  CHECK(asked.mode_is_unclear);
  CHECK(asked.complaints ==
        std::vector<std::string>{
            "LOCKSTEP_NCCL=offf: want one of auto, off, show, warn, strict (did you mean 'off'?)"});
  GivenOptions unchecked;
  unchecked.inherit(UserOption::mode, "loud");
  CHECK(read_user_options(unchecked, {}).options.mode == Mode::off);
  CHECK(read_user_options(unchecked, {}).mode_is_unclear);
  GivenOptions given;
  given.give(UserOption::mode, "show");
  CHECK(read_user_options(given, environment).options.mode == Mode::show);
  CHECK_FALSE(read_user_options(given, environment).mode_is_unclear);
  CHECK_FALSE(read_user_options({}, {{"LOCKSTEP_NCCL_TORCH", "loud"}}).mode_is_unclear);
}

TEST_CASE("a list beyond all reason is refused as a whole") {
  std::string text = "A0=1";
  for (int i = 1; i < 4000; ++i) text += ",A" + std::to_string(i) + "=1";
  CHECK_THAT(read_user_options({}, {{"LOCKSTEP_NCCL_SET", text}}).complaints.at(0),
             Contains("want at most 16384"));
}

TEST_CASE("a long value is cut in a message") {
  GivenOptions given;
  try {
    given.give(UserOption::mode, std::string(100'000, 'x'));
    FAIL("it was taken");
  } catch (const UserOptionError& error) {
    CHECK(std::string(error.what()).size() < 200);
  }
}
