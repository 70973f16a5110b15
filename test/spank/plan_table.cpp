#include "plan/table.h"

#include <catch2/catch.hpp>

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

TEST_CASE("a finding is one line with what mends it", "[plan]") {
  CHECK(line_of({Finding::Severity::problem, "it is broken", "mend it"}) == "problem: it is broken; mend it");
  CHECK(line_of({Finding::Severity::advice, "it is slow", "hurry"}) == "advice: it is slow; hurry");
}
