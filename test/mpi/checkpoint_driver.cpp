// Hidden cases that test/fault/checkpoint.sh runs one at a time, with faults preloaded, in the folder
// LOCKSTEP_TEST_FOLDER. They print one line that the script reads.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdlib>

#include "checkpoint/load.h"
#include "checkpoint/save.h"
#include "checkpoint_fixture.h"
#include "core/error.h"
#include "ranks.h"

using namespace lockstep;
using namespace lockstep::checkpoint;

namespace {

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  REQUIRE(value != nullptr);
  return value;
}

}  // namespace

TEST_CASE("driver: save the step LOCKSTEP_TEST_STEP", "[.driver]") {
  comm::MpiGroup comm(MPI_COMM_WORLD);
  const std::int64_t step = std::stoll(setting("LOCKSTEP_TEST_STEP"));
  Tensors tensors = test_tensors(static_cast<std::uint64_t>(step));
  std::string text;
  try {
    save(comm, setting("LOCKSTEP_TEST_FOLDER"), test_state(step), tensors.views(), {{"17", 0}, [] {}, 1000});
    text = fmt::format("saved step {}", step);
  } catch (const Error& error) {
    text = fmt::format("error {}: {}", static_cast<int>(error.code()), error.what());
  }
  // All ranks live on after a failed save, and tell the same.
  for (const std::string& other : comm::gather_texts(comm, text)) CHECK(other == text);
  if (comm.rank() == 0) fmt::print("{}\n", text);
}

TEST_CASE("driver: load the newest", "[.driver]") {
  comm::MpiGroup comm(MPI_COMM_WORLD);
  const std::filesystem::path folder = setting("LOCKSTEP_TEST_FOLDER");
  const auto loaded = open_newest(comm, folder, [](const std::string& text) { fmt::print("{}\n", text); });
  REQUIRE(loaded);
  const std::int64_t step = loaded->state().step;
  const Tensors wanted = test_tensors(static_cast<std::uint64_t>(step));
  Tensors read = test_tensors(0);
  loaded->read(comm, read.views());
  CHECK(read.values == wanted.values);
  CHECK(loaded->state() == test_state(step));
  if (comm.rank() == 0) {
    for (const auto& path : remove_stale_temporaries(folder, {"17", 1}, [] {})) {
      fmt::print("removed {}\n", path.filename().string());
    }
    fmt::print("loaded step {}\n", step);
  }
}
