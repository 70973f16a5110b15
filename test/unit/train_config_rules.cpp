#include "train/config_rules.h"

#include <catch2/catch.hpp>

#include "core/error.h"
#include "core/files.h"
#include "temp_folder.h"

using namespace lockstep;
using namespace lockstep::train;

namespace {

ResolvedConfig resolved(const std::string& text) {
  const TempFolder folder;
  const std::filesystem::path path = folder / "run.conf";
  write_atomically(path, "[data]\ntrain = shards\n" + text);
  return resolve_config(path, {});
}

std::string problem_of(const std::string& text) {
  try {
    (void)resolved(text);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::bad_config);
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("a schedule that does not fit into the run is refused", "[config]") {
  const std::string wsd = "[train]\nsteps = 100\n[optim]\nschedule = wsd\nwarmup_steps = ";
  CHECK(problem_of(wsd + "90\n") == "no error");
  CHECK_THAT(
      problem_of(wsd + "91\n"),
      Catch::EndsWith("run.conf:7: optim.warmup_steps = 91 and 10 steps of decay (optim.decay_steps = 0) "
                      "are more than train.steps = 100: make one of them shorter"));
  CHECK(problem_of(wsd + "40\ndecay_steps = 60\n") == "no error");
  CHECK_THAT(problem_of(wsd + "40\ndecay_steps = 61\n"),
             Catch::Contains("run.conf:8: ") && Catch::Contains("and 61 steps of decay"));
  CHECK_THAT(problem_of("[optim]\nschedule = linear\nlr = 0.1\nmin_lr = 0.2\n"),
             Catch::Contains("run.conf:6: optim.min_lr = 0.2 is above optim.lr = 0.1"));
  CHECK(problem_of("[optim]\nlr = 0.1\nmin_lr = 0.2\n") == "no error");
}

TEST_CASE("keys that do nothing beside the others are told, if they were given", "[config]") {
  using Keys = std::vector<std::string>;
  CHECK(keys_without_effect(resolved("")) == Keys{});
  CHECK(keys_without_effect(resolved("[optim]\nname = adamw\nbeta1 = 0.8\nmomentum = 0.9\n")) ==
        Keys{"optim.momentum (optim.name = adamw)"});
  CHECK(keys_without_effect(resolved("[optim]\nbeta1 = 0.8\nbeta2 = 0.8\neps = 1\nmomentum = 0.9\n")) ==
        Keys{"optim.beta1 (optim.name = sgd)", "optim.beta2 (optim.name = sgd)",
             "optim.eps (optim.name = sgd)"});
  CHECK(keys_without_effect(resolved("[optim]\ndecay_steps = 5\nmin_lr = 0.01\n")) ==
        Keys{"optim.decay_steps (optim.schedule = constant)", "optim.min_lr (optim.schedule = constant)"});
  CHECK(keys_without_effect(resolved("[optim]\nschedule = wsd\ndecay_steps = 5\nmin_lr = 0.01\n")) == Keys{});
  CHECK(keys_without_effect(resolved("[train]\nloss = mse\nlabel_smoothing = 0.1\n")) ==
        Keys{"train.label_smoothing (train.loss = mse)"});
  CHECK(keys_without_effect(resolved("[model]\nchannels = 4\ndepth = 20\nhidden = 8\n")) ==
        Keys{"model.channels (model.name = mlp)", "model.depth (model.name = mlp)"});
  CHECK(keys_without_effect(resolved("[model]\nname = resnet\nchannels = 4\ndepth = 20\nhidden = 8\n")) ==
        Keys{"model.hidden (model.name = resnet)", "model.channels (model.name = resnet)"});
  CHECK(keys_without_effect(resolved("[model]\nactivation = gelu\n")) == Keys{});
  CHECK(keys_without_effect(resolved("[model]\nname = cnn\nactivation = gelu\n")) ==
        Keys{"model.activation (model.name = cnn)"});
  CHECK(keys_without_effect(resolved("[train]\nsteps = 5\n[optim]\nschedule = cosine\nwarmup_steps = 5\n")) ==
        Keys{"optim.schedule = cosine (all 5 steps are warm-up)"});
  const std::string evaluation = "[eval]\nevery = 5\nbatch = 4\nmetric = accuracy\nmin_delta = 0.1\n";
  CHECK(keys_without_effect(resolved(evaluation)) ==
        Keys{"eval.every (no data.test)", "eval.batch (no data.test)", "eval.metric (no data.test)",
             "eval.min_delta (no data.test)"});
  CHECK(keys_without_effect(resolved("test = shards\n" + evaluation)) ==
        Keys{"eval.min_delta (eval.patience = 0, checkpoint.keep_best = off)"});
  CHECK(keys_without_effect(resolved("test = shards\n" + evaluation + "patience = 2\n")) == Keys{});
  CHECK(keys_without_effect(resolved("test = shards\n[eval]\npatience = 2\n")) ==
        Keys{"eval.patience (eval.every = 0: the only evaluation is the last)"});
  CHECK(keys_without_effect(resolved("test = shards\n[eval]\npatience = 2\nevery = 1000\n")) ==
        Keys{"eval.patience (eval.every = 1000: the only evaluation is the last)"});
  CHECK(keys_without_effect(resolved("[guard]\nmax_anomalies = 3\n")) ==
        Keys{"guard.max_anomalies (guard.anomaly = stop)"});
  CHECK(keys_without_effect(resolved("[guard]\nstraggler_steps = 9\n")) == Keys{});
  CHECK(keys_without_effect(resolved("[guard]\nstraggler_steps = 9\nstraggler_factor = 0\n")) ==
        Keys{"guard.straggler_steps (guard.straggler_factor = 0)"});
  CHECK(keys_without_effect(resolved("[comm]\noverlap = off\nalgorithm = auto\n"), true) == Keys{});
  const auto of_ranks = resolved("[comm]\noverlap = on\nalgorithm = ring\n");
  CHECK(keys_without_effect(of_ranks) == Keys{});
  CHECK(keys_without_effect(of_ranks, true) == Keys{"comm.overlap (1 rank)", "comm.algorithm (1 rank)"});
  const auto rounded = resolved("[comm]\ndtype = bf16\nalgorithm = mpi\n");
  CHECK(keys_without_effect(rounded) == Keys{"comm.algorithm (comm.dtype = bf16)"});
  CHECK(keys_without_effect(rounded, true) == Keys{"comm.algorithm (1 rank)", "comm.dtype (1 rank)"});
  CHECK(keys_without_effect(resolved("[comm]\ndtype = bf16\nalgorithm = ring\n")) == Keys{});
}

TEST_CASE("gradients that are rounded on their way are refused in exact mode", "[config]") {
  const std::string exact = "[train]\nreduction = exact\n[comm]\ndtype = ";
  CHECK(problem_of(exact + "f32\n") == "no error");
  CHECK_THAT(problem_of(exact + "bf16\n"),
             Catch::Contains("run.conf:6: comm.dtype = bf16 rounds what each rank sends") &&
                 Catch::EndsWith("use comm.dtype = f32, or train.reduction = fast"));
  CHECK(problem_of("[comm]\ndtype = bf16\n") == "no error");
  CHECK_THAT(problem_of("[comm]\ndtype = fp16\n"), Catch::EndsWith("one of f32, bf16 is wanted"));
}
