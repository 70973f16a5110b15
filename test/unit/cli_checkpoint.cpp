#include "cli/checkpoint.h"

#include <catch2/catch.hpp>
#include <vector>

#include "core/error.h"

using namespace lockstep;

namespace {

ExitCode refusal(const std::vector<std::string>& args) {
  try {
    return static_cast<ExitCode>(cli::checkpoint_command(args));
  } catch (const Error& error) {
    return error.code();
  }
}

}  // namespace

TEST_CASE("the checkpoint command refuses what it does not understand", "[cli]") {
  CHECK(refusal({}) == ExitCode::usage);
  CHECK(refusal({"info"}) == ExitCode::usage);
  CHECK(refusal({"verify"}) == ExitCode::usage);
  CHECK(refusal({"info", "a", "b"}) == ExitCode::usage);
  CHECK(refusal({"delete", "a"}) == ExitCode::usage);
  CHECK(refusal({"info", "--colour", "a"}) == ExitCode::usage);
  CHECK(refusal({"info", "/nowhere/step-00000001.h5"}) == ExitCode::missing_input);
  CHECK(refusal({"verify", "/nowhere/step-00000001.h5"}) == ExitCode::missing_input);
}
