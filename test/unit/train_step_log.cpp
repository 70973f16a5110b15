#include "train/step_log.h"

#include <catch2/catch.hpp>

#include "core/error.h"
#include "temp_folder.h"

using namespace lockstep;
using namespace lockstep::train;

TEST_CASE("further columns come with the first attempt that has them, and stay", "[train]") {
  const TempFolder folder;
  const auto file = folder / "timings.csv";
  const auto go_on = [&](std::int64_t step, bool wanted, const char* row) {
    StepLog log(file, "step,seconds", step, [] {}, {"heat,why", wanted});
    CHECK(log.append(row));
  };
  go_on(0, false, "1,0.5");
  CHECK(read_text(file) == "step,seconds\n1,0.5\n");
  go_on(1, true, "2,0.25,61,\"\"");
  CHECK(read_text(file) == "step,seconds,heat,why\n1,0.5,,\n2,0.25,61,\"\"\n");
  go_on(2, false, "3,0.125");
  CHECK(read_text(file) == "step,seconds,heat,why\n1,0.5,,\n2,0.25,61,\"\"\n3,0.125,,\n");
  go_on(1, true, "2,0.5");  // a step without them
  CHECK(read_text(file) == "step,seconds,heat,why\n1,0.5,,\n2,0.5,,\n");
  CHECK_THROWS_AS(StepLog(file, "step,seconds", 2), Error);
}
