// Who wins for a variable, and what of it reaches the environment.
#include "plan/settings.h"

#include <catch2/catch.hpp>

#include "plan/applied.h"
#include "plan/digest.h"
#include "plan/make_plan.h"

using namespace lockstep::spank;

namespace {

constexpr const char* variable = "NCCL_IB_TIMEOUT";

// Every source has a say; a test takes the strongest away, one by one.
struct Say {
  UserOptions options{{}, {}, {{variable, "option"}}, {}};
  Environment environment{{variable, "user"}};
  NcclConf user_file{"/h/.nccl.conf", {{variable, "user file", 3}}};
  Profile profile;
  NcclConf site_file{"/etc/nccl.conf", {{variable, "site file", 7}}};
  bool with_user_file = true;
  bool with_site_file = true;

  Say() {
    profile.name = "p";
    profile.constants = {{variable, "profile", 2}};
  }
  Settings settings() const {
    return Settings({options, environment, with_user_file ? &user_file : nullptr, profile,
                     with_site_file ? &site_file : nullptr});
  }
};

Decision in_effect(const Say& say) {
  Settings settings = say.settings();
  settings.propose(variable, "rule", "because");
  const Decision* decision = settings.find(variable);
  REQUIRE(decision != nullptr);
  return *decision;
}

}  // namespace

TEST_CASE("option, environment, user's file, profile, node's file and rule win in this order", "[plan]") {
  Say say;
  CHECK(*in_effect(say).value == "option");
  CHECK(in_effect(say).origin == "--nccl-set");
  say.options.set.clear();
  CHECK(*in_effect(say).value == "user");
  say.environment.clear();
  CHECK(*in_effect(say).value == "user file");
  CHECK(in_effect(say).origin == "/h/.nccl.conf:3");
  CHECK(in_effect(say).in_files);
  say.with_user_file = false;
  CHECK(*in_effect(say).value == "profile");
  CHECK(in_effect(say).origin == "profile p");
  say.profile.constants.clear();
  CHECK(*in_effect(say).value == "site file");
  CHECK(in_effect(say).origin == "/etc/nccl.conf:7");
  say.with_site_file = false;
  CHECK(*in_effect(say).value == "rule");
}

TEST_CASE("an empty value of the user is a value", "[plan]") {
  Say say;
  say.options.set.clear();
  say.environment[variable] = "";
  CHECK(*in_effect(say).value == "");
}

TEST_CASE("a variable that was taken out by option stays out", "[plan]") {
  Say say;
  say.options.set.clear();
  say.options.unset = {variable};
  say.with_user_file = say.with_site_file = false;
  Settings settings = say.settings();
  CHECK_FALSE(settings.propose(variable, "rule", "because"));
  CHECK(settings.find(variable) == nullptr);
}

TEST_CASE("what a profile orders by a key of its own beats the node's file, and nothing stronger", "[plan]") {
  Say say;
  say.options.set.clear();
  say.profile.constants.clear();
  {
    Settings settings = say.settings();
    CHECK_FALSE(settings.propose_for_profile(variable, "key", "because"));
    CHECK(*settings.find(variable)->value == "user");
  }
  say.environment.clear();
  say.with_user_file = false;
  Settings settings = say.settings();
  CHECK(settings.propose_for_profile(variable, "key", "because"));
  CHECK(*settings.find(variable)->value == "key");
  CHECK(settings.find(variable)->source == Source::profile);
}

TEST_CASE("the user's value beats a constant of the profile, whatever the variable's name", "[plan]") {
  Say say;
  say.profile.constants = {{"CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1}};
  say.environment["CUDA_DEVICE_ORDER"] = "FASTEST_FIRST";
  CHECK(*say.settings().find("CUDA_DEVICE_ORDER")->value == "FASTEST_FIRST");
}

TEST_CASE("a decision stays where it is while others are made, and knows who may set it", "[plan]") {
  Say say;
  say.options.set.clear();
  say.environment.clear();
  say.with_user_file = false;
  say.profile.constants.clear();
  Settings settings = say.settings();
  const Decision* decision = settings.find(variable);
  for (int i = 0; i < 1000; ++i) settings.propose("NCCL_X" + std::to_string(i), "1", "because");
  CHECK(settings.may_set(variable));
  CHECK(settings.propose_for_profile(variable, "key", "because"));
  CHECK(*decision->value == "key");
  CHECK_FALSE(settings.may_set(variable));
  CHECK(settings.may_set("NCCL_NEW"));
}

TEST_CASE("what NCCL's files say to other libraries keeps nothing from them", "[plan]") {
  Say say;
  say.user_file.entries = {{"GLOO_SOCKET_IFNAME", "eth0", 1}};
  CHECK(say.settings().find("GLOO_SOCKET_IFNAME") == nullptr);
  CHECK(say.settings().propose("GLOO_SOCKET_IFNAME", "ib0", "because"));
}

TEST_CASE("a variable of NCCL's files is taken out by an empty one", "[plan]") {
  Say say;
  say.options.set.clear();
  say.options.unset = {variable, "NCCL_OTHER"};
  const Plan plan = say.settings().take();
  REQUIRE(plan.find(variable) != nullptr);
  CHECK(plan.find(variable)->value == "");
  CHECK(plan.find(variable)->reason == "empty, so that NCCL does not take it from /h/.nccl.conf:3");
  REQUIRE(plan.find("NCCL_OTHER") != nullptr);
  CHECK_FALSE(plan.find("NCCL_OTHER")->value);
}

TEST_CASE("a variable that is left unset is told with the reason, and nobody's own value is lost", "[plan]") {
  Say say;
  say.options.set.clear();
  Settings settings = say.settings();
  settings.leave_unset(variable, "because");
  settings.leave_unset("NCCL_NEW", "because");
  CHECK(*settings.find(variable)->value == "user");
  const Plan plan = std::move(settings).take();
  REQUIRE(plan.find("NCCL_NEW") != nullptr);
  CHECK_FALSE(plan.find("NCCL_NEW")->value);
  CHECK(plan.find("NCCL_NEW")->reason == "because");
}

TEST_CASE("the user's other variables are not looked at", "[plan]") {
  Say say;
  say.environment["SECRET"] = "x";
  CHECK(say.settings().find("SECRET") == nullptr);
}

namespace {

std::optional<std::string> change_of(const std::vector<Change>& changes, std::string_view name, bool& found) {
  for (const Change& change : changes) {
    if (change.variable == name) {
      found = true;
      return change.value;
    }
  }
  found = false;
  return std::nullopt;
}

Decision decision(const char* name, std::optional<std::string> value, Source source) {
  return {name, std::move(value), source, "", "", source == Source::user_file || source == Source::site_file};
}

}  // namespace

TEST_CASE("only what the plugin has decided changes the environment", "[plan]") {
  Plan plan;
  plan.digest = "v1 x=1";
  plan.decisions = {decision("A", "1", Source::rule),      decision("B", "2", Source::user),
                    decision("C", "3", Source::user_file), decision("D", std::nullopt, Source::option),
                    decision("E", "5", Source::profile),   decision("F", "6", Source::option)};
  const Environment environment = {{"B", "2"}, {"D", "4"}, {"E", "5"}, {"F", "user's"}};
  const auto changes = changes_of(plan, environment);
  bool found = false;
  CHECK(change_of(changes, "A", found) == "1");
  CHECK(change_of(changes, "D", found) == std::nullopt);
  CHECK(found);
  CHECK(change_of(changes, "F", found) == "6");
  CHECK(change_of(changes, digest_variable, found) == "v1 x=1");
  CHECK(change_of(changes, applied_variable, found) ==
        describe_applied({{"A", "1"}, {"E", "5"}, {"F", "6"}}));
  for (const char* untouched : {"B", "C", "E"}) {
    INFO(untouched);
    change_of(changes, untouched, found);
    CHECK_FALSE(found);
  }
  CHECK(changes.size() == 5);
}

TEST_CASE("own values of an outer step are known again unless somebody has changed them", "[plan]") {
  Environment environment = {{"A", "1"}, {"B", "2"}, {"C", "3"}};
  environment[applied_variable] = describe_applied({{"A", "1"}, {"B", "old"}, {"gone", "x"}});
  CHECK(applied_variables(environment) == std::vector<std::string>{"A"});
  CHECK(applied_variables({{"A", "1"}}).empty());
  CHECK(applied_variables({{applied_variable, ",:,A,A:,:zz,A:00000000:"}, {"A", "1"}}).empty());
}

TEST_CASE("what an outer step was given and this one is not is taken away", "[plan]") {
  Environment environment = {{"OLD", "1"}, {"KEPT", "2"}, {"IN_FILE", "3"}};
  environment[applied_variable] = describe_applied({{"OLD", "1"}, {"KEPT", "2"}, {"IN_FILE", "3"}});
  Plan plan;
  plan.decisions = {decision("KEPT", "2", Source::rule), decision("IN_FILE", "4", Source::user_file)};
  const auto changes = changes_of(plan, environment);
  bool found = false;
  CHECK(change_of(changes, "OLD", found) == std::nullopt);
  CHECK(found);
  CHECK(change_of(changes, "IN_FILE", found) == std::nullopt);
  CHECK(found);
  change_of(changes, "KEPT", found);
  CHECK_FALSE(found);
}

TEST_CASE("the digest tells what must be equal, and only that", "[plan]") {
  Plan plan;
  plan.decisions = {decision("MASTER_ADDR", "n1", Source::rule), decision("NCCL_IB_HCA", "=a", Source::rule),
                    decision("NCCL_SOCKET_IFNAME", "=eth0", Source::rule)};
  const std::string digest = digest_of(plan, 5, "550");
  const auto parts = [](const std::string& text) {
    std::map<std::string, std::string> values;
    for (std::size_t at = text.find(' '); at != std::string::npos; at = text.find(' ', at + 1)) {
      const std::string part = text.substr(at + 1, text.find(' ', at + 1) - at - 1);
      values[part.substr(0, part.find('='))] = part.substr(part.find('=') + 1);
    }
    return values;
  };
  CHECK(digest.starts_with("v1 "));
  CHECK(parts(digest).size() == 5);

  Plan other = plan;
  other.decisions[2].value = "=ib0";
  CHECK(digest_of(other, 5, "550") == digest);
  std::swap(other.decisions[0], other.decisions[1]);
  CHECK(digest_of(other, 5, "550") == digest);

  const auto differing = [&](const std::string& text) {
    std::string names;
    for (const auto& [name, value] : parts(text)) {
      if (parts(digest)[name] != value) names += name + " ";
    }
    return names;
  };
  other = plan;
  other.decisions[0].value = "n2";
  CHECK(differing(digest_of(other, 5, "550")) == "rendezvous ");
  other = plan;
  other.decisions[1].value = "=b";
  CHECK(differing(digest_of(other, 5, "550")) == "nccl ");
  other = plan;
  other.equal = {"socket interface: InfiniBand"};
  CHECK(differing(digest_of(other, 5, "550")) == "nccl ");
  CHECK(differing(digest_of(plan, 6, "550")) == "config ");
  CHECK(differing(digest_of(plan, 5, "535")) == "driver ");
}
