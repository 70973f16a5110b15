#include "plan/table.h"

#include <catch2/catch.hpp>

#include "step/clean_text.h"

using namespace lockstep::spank;

TEST_CASE("the table is aligned, wraps reasons, and gives a long value a line of its own", "[plan]") {
  Plan plan;
  plan.decisions = {{"MASTER_PORT", "41001", Source::rule, "rule", "first of the reserved ports", false},
                    {"NCCL_IB_HCA", "=mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1", Source::profile, "profile p",
                     "four words of reason", false},
                    {"X", std::nullopt, Source::option, "--nccl-unset", "asked for", false}};
  CHECK(table_of(plan, 70) ==
        std::vector<std::string>{"VARIABLE     VALUE      FROM          WHY",
                                 "MASTER_PORT  41001      rule          first of the reserved ports",
                                 "NCCL_IB_HCA  =mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1",
                                 "                        profile p     four words of reason",
                                 "X            (not set)  --nccl-unset  asked for"});
}

TEST_CASE("whatever the plan holds, the table is printable ASCII of bounded width", "[plan]") {
  Plan plan;
  plan.decisions = {{"\x1b[2J" + std::string(500, 'V'), "\xc2\x9b" + std::string(5000, 'v'), Source::user,
                     "\xe2\x80\xae" + std::string(500, 'o'), "a\x07 b\n" + std::string(5000, 'r'), false}};
  const std::vector<std::string> lines = table_of(plan, 70);
  REQUIRE(lines.size() >= 3);
  CHECK(lines[1] == "?[2J" + std::string(53, 'V') + "...  ??" + std::string(395, 'v') + "...");
  CHECK(lines[2] == std::string(60 + 2 + 5 + 2, ' ') + "???" + std::string(54, 'o') + "...  a?");
  CHECK_THAT(lines[3], Catch::Matchers::StartsWith(std::string(60 + 2 + 5 + 2 + 60 + 2, ' ') + "b?rrr"));
  for (const std::string& line : lines) {
    CHECK(is_printable(line));
    CHECK(line.size() < 1200);
  }
  CHECK(line_of({Finding::Severity::advice, "a\nb\xc2\x9b", "c\x1b"}) == "advice: a?b??; c?");
}

TEST_CASE("a finding is one line with what mends it", "[plan]") {
  CHECK(line_of({Finding::Severity::problem, "it is broken", "mend it"}) == "problem: it is broken; mend it");
  CHECK(line_of({Finding::Severity::advice, "it is slow", "hurry"}) == "advice: it is slow; hurry");
}
