#include "optim/schedule.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "core/error.h"

using lockstep::Error;
using lockstep::optim::decay_steps_of;
using lockstep::optim::learning_rate;
using lockstep::optim::schedule_kind;
using lockstep::optim::ScheduleKind;
using lockstep::optim::ScheduleOptions;

TEST_CASE("every schedule warms up in a straight line", "[schedule]") {
  const auto kind =
      GENERATE(ScheduleKind::constant, ScheduleKind::linear, ScheduleKind::cosine, ScheduleKind::wsd);
  ScheduleOptions options{
      .kind = kind, .learning_rate = 0.8, .warmup_steps = 4, .decay_steps = 2, .final_rate = 0.1};
  CHECK(learning_rate(options, 0, 12) == Approx(0.2));
  CHECK(learning_rate(options, 2, 12) == Approx(0.6));
  CHECK(learning_rate(options, 3, 12) == 0.8);
  CHECK(learning_rate(options, 4, 12) == Approx(0.8));
  // Longer than the run, it stays warm-up.
  options.warmup_steps = 20;
  CHECK(learning_rate(options, 11, 12) == Approx(0.48));
  options.warmup_steps = 0;
  CHECK(learning_rate(options, 0, 12) == Approx(0.8));
}

TEST_CASE("the constant schedule is constant", "[schedule]") {
  const ScheduleOptions options{.kind = ScheduleKind::constant,
                                .learning_rate = 0.8,
                                .warmup_steps = 4,
                                .decay_steps = 0,
                                .final_rate = 0.1};
  CHECK(learning_rate(options, 5, 12) == 0.8);
  CHECK(learning_rate(options, 11, 12) == 0.8);
  CHECK(learning_rate(options, 12, 12) == 0.8);
}

TEST_CASE("the linear schedule by hand", "[schedule]") {
  ScheduleOptions options{.kind = ScheduleKind::linear,
                          .learning_rate = 0.8,
                          .warmup_steps = 4,
                          .decay_steps = 0,
                          .final_rate = 0.};
  CHECK(learning_rate(options, 6, 12) == Approx(0.6));   // a quarter of the way
  CHECK(learning_rate(options, 8, 12) == Approx(0.4));   // half-way
  CHECK(learning_rate(options, 11, 12) == Approx(0.1));  // the last step
  CHECK(learning_rate(options, 12, 12) == 0.);
  options.final_rate = 0.4;
  CHECK(learning_rate(options, 8, 12) == Approx(0.6));
  CHECK(learning_rate(options, 12, 12) == 0.4);
  CHECK(learning_rate(options, 99, 12) == 0.4);
}

TEST_CASE("the cosine schedule by hand", "[schedule]") {
  ScheduleOptions options{.kind = ScheduleKind::cosine,
                          .learning_rate = 0.8,
                          .warmup_steps = 4,
                          .decay_steps = 0,
                          .final_rate = 0.};
  CHECK(learning_rate(options, 4, 12) == 0.8);
  CHECK(learning_rate(options, 8, 12) == Approx(0.4));  // half-way
  CHECK(learning_rate(options, 6, 12) == Approx(0.4 * (1. + std::sqrt(0.5))));
  CHECK(learning_rate(options, 12, 12) == 0.);
  options.final_rate = 0.08;
  CHECK(learning_rate(options, 8, 12) == Approx(0.44));
  CHECK(learning_rate(options, 12, 12) == 0.08);
  options.warmup_steps = 0;
  CHECK(learning_rate(options, 4, 12) == Approx(0.08 + 0.72 * 0.75));  // a third: cos 60 degrees is 1/2
}

TEST_CASE("the wsd schedule by hand", "[schedule]") {
  ScheduleOptions options{.kind = ScheduleKind::wsd,
                          .learning_rate = 0.8,
                          .warmup_steps = 2,
                          .decay_steps = 4,
                          .final_rate = 0.4};
  CHECK(learning_rate(options, 2, 12) == 0.8);
  CHECK(learning_rate(options, 7, 12) == 0.8);
  CHECK(learning_rate(options, 8, 12) == 0.8);  // the decay begins here
  CHECK(learning_rate(options, 9, 12) == Approx(0.7));
  CHECK(learning_rate(options, 10, 12) == Approx(0.6));
  CHECK(learning_rate(options, 11, 12) == Approx(0.5));
  CHECK(learning_rate(options, 12, 12) == 0.4);
  options.decay_steps = 0;  // a tenth
  CHECK(decay_steps_of(options, 40) == 4);
  CHECK(learning_rate(options, 36, 40) == 0.8);
  CHECK(learning_rate(options, 38, 40) == Approx(0.6));
  CHECK(decay_steps_of(options, 9) == 1);
  CHECK(learning_rate(options, 8, 9) == 0.8);
  CHECK(learning_rate(options, 9, 9) == 0.4);
}

TEST_CASE("schedules by name", "[schedule]") {
  CHECK(schedule_kind("constant") == ScheduleKind::constant);
  CHECK(schedule_kind("linear") == ScheduleKind::linear);
  CHECK(schedule_kind("cosine") == ScheduleKind::cosine);
  CHECK(schedule_kind("wsd") == ScheduleKind::wsd);
  CHECK_THROWS_AS(schedule_kind("cosin"), Error);
}
