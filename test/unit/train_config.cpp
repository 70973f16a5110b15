#include <catch2/catch.hpp>

#include "core/files.h"
#include "temp_folder.h"
#include "train/config_source.h"

using namespace lockstep;
using namespace lockstep::train;

namespace {

struct File {
  TempFolder folder;
  std::filesystem::path path;
  explicit File(const std::string& text) : path(folder / "run.conf") { write_atomically(path, text); }
};

const std::string small = "[data]\ntrain = shards  # where they lie\n";

std::string problem_of(const std::string& text, const std::vector<std::string>& overrides = {},
                       ExitCode code = ExitCode::bad_config) {
  const File file(text);
  try {
    (void)resolve_config(file.path, overrides);
  } catch (const Error& error) {
    CHECK(error.code() == code);
    return error.what();
  }
  return "no error";
}

const Entry& entry(const ResolvedConfig& resolved, const std::string& key) {
  for (const Entry& candidate : resolved.entries) {
    if (candidate.key == key) return candidate;
  }
  throw std::out_of_range(key);
}

}  // namespace

TEST_CASE("the command line beats the file, the file beats the defaults", "[config]") {
  const File file(small + "[train]\nsteps = 10\nglobal_batch = 64\n[model]\nhidden = 32, 16\n");
  const auto resolved = resolve_config(file.path, std::vector<std::string>{"--train.steps=20"});
  CHECK(resolved.config.train.steps == 20);
  CHECK(resolved.config.train.global_batch == 64);
  CHECK(resolved.config.train.micro_batch == 32);
  CHECK(resolved.config.model.hidden == std::vector<std::int64_t>{32, 16});
  CHECK(resolved.config.data.train == "shards");
  CHECK(resolved.config.run.dir == "checkpoints/run");
  CHECK(resolved.config.virtual_workers() == 2);
  CHECK(entry(resolved, "train.steps").origin == "command line");
  CHECK(entry(resolved, "train.global_batch").origin == file.path.string() + ":5");
  CHECK(entry(resolved, "train.micro_batch").origin == "default");
}

TEST_CASE("a value may be empty or a word of its own, and the last one wins", "[config]") {
  const File file(small + "test = held-out\n");
  CHECK(resolve_config(file.path, {}).config.data.test == "held-out");
  const auto resolved = resolve_config(
      file.path,
      std::vector<std::string>{"--data.test=", "--train.steps", "7", "--optim.lr=1", "--optim.lr=2"});
  CHECK(resolved.config.data.test.empty());
  CHECK(resolved.config.train.steps == 7);
  CHECK(resolved.config.optim.lr == 2);
}

TEST_CASE("what is printed gives the same configuration again", "[config]") {
  const File file(small + "[optim]\nlr = 0.125\n");
  const auto first = resolve_config(file.path, {});
  const File copy(to_ini(first, true));
  const auto second = resolve_config(copy.path, {});
  CHECK(canonical_text(first) == canonical_text(second));
}

TEST_CASE("faults name file, line and the way out", "[config]") {
  CHECK_THAT(problem_of(small + "[train]\nglobl_batch = 3\n"),
             Catch::Contains("run.conf:4: unknown key train.globl_batch; did you mean train.global_batch?"));
  CHECK_THAT(problem_of(small + "[train]\n\nsteps = many\n"),
             Catch::Contains("run.conf:5: train.steps = many: a whole number of at least 1 is wanted"));
  CHECK_THAT(problem_of(small + "[train]\nsteps = 1\nsteps = 2\n"),
             Catch::Contains("run.conf:5: train.steps is given twice"));
  CHECK_THAT(problem_of(small + "[train]\nmicro_batch = 48\n"),
             Catch::Contains("run.conf:4: train.micro_batch = 48 does not divide train.global_batch = 128"));
  CHECK_THAT(problem_of(small + "[optim]\nschedule = cosin\n"),
             Catch::Contains("one of constant, linear, cosine, wsd"));
  CHECK_THAT(problem_of(small + "[optim]\nlr = nan\n"), Catch::Contains("optim.lr = nan"));
  CHECK_THAT(problem_of(small + "[train]\nloss_scale = 1000\n"),
             Catch::Contains("a power of two from 1 to 1099511627776 is wanted"));
  CHECK_THAT(problem_of(""), Catch::Contains("data.train"));
  CHECK_THAT(problem_of(small + "garbage\n"), Catch::Contains("run.conf:3: \"garbage\" is neither"));
  CHECK_THAT(problem_of(small, {"--trian.steps=3"}, ExitCode::usage),
             Catch::Contains("did you mean train.steps?"));
  CHECK_THAT(problem_of(small, {"--train.steps=x"}), Catch::Contains("command line: train.steps = x"));
  CHECK_THAT(problem_of(small, {"--train.steps"}, ExitCode::usage),
             Catch::Contains("--train.steps has no value"));
  CHECK_THAT(problem_of(small, {"stray"}, ExitCode::usage), Catch::Contains("unexpected word stray"));
}

TEST_CASE("keys that cannot work together are refused", "[config]") {
  CHECK_THAT(problem_of(small + "[guard]\nspike_factor = 0.5\n"),
             Catch::Contains(":4") && Catch::Contains("or more than 1"));
  CHECK(problem_of(small + "[guard]\nspike_factor = 1.5\n") == "no error");
  for (const char* factor : {"0.5", "1"}) {
    CHECK_THAT(problem_of(small + "[guard]\nstraggler_factor = " + factor + "\n"),
               Catch::Contains(":4") && Catch::Contains("guard.straggler_factor = ") &&
                   Catch::Contains("or more than 1"));
  }
  for (const char* factor : {"0", "1.01"}) {
    CHECK(problem_of(small + "[guard]\nstraggler_factor = " + factor + "\n") == "no error");
  }
  CHECK_THAT(problem_of(small, {"--eval.metric=accuracy", "--train.loss=mse"}),
             Catch::Contains("needs class labels"));
  CHECK_THAT(problem_of(small, {"--eval.patience=3"}),
             Catch::Contains("eval.patience") && Catch::Contains("data.test"));
  CHECK_THAT(problem_of(small, {"--checkpoint.keep_best=on"}), Catch::Contains("data.test"));
  CHECK(problem_of(small, {"--checkpoint.keep_best=on", "--eval.patience=3", "--data.test=x"}) == "no error");
}

TEST_CASE("a file that is not there is said to be missing", "[config]") {
  try {
    (void)resolve_config("/no/such/run.conf", {});
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::missing_input);
    CHECK_THAT(error.what(), Catch::Contains("/no/such/run.conf"));
  }
}

TEST_CASE("differences between two attempts are sorted into refused and allowed", "[config]") {
  const File file(small);
  const auto before = canonical_text(resolve_config(file.path, {}));
  const auto now = resolve_config(
      file.path, std::vector<std::string>{"--optim.lr=0.2", "--run.seed=9", "--run.dir=elsewhere"});
  const auto found = differences(before, now);
  REQUIRE(found.size() == 2);
  CHECK(found[0].key == "run.seed");
  CHECK(found[0].change == Change::refused);
  CHECK(found[1].key == "optim.lr");
  CHECK(found[1].before == "0.05");
  CHECK(found[1].now == "0.2");
  CHECK(found[1].change == Change::allowed);
}

TEST_CASE("every key's default is valid but that of the training data", "[config]") {
  Config config;
  for (const Key& key : config_keys()) {
    if (key.name == "data.train") continue;
    INFO(key.name);
    CHECK_NOTHROW(key.set(config, key.default_text));
    CHECK_FALSE(key.help.empty());
  }
}
