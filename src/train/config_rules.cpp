#include "train/config_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>

#include "core/error.h"
#include "optim/schedule.h"

namespace lockstep::train {

namespace {

const Entry& entry_of(const ResolvedConfig& resolved, std::string_view key) {
  return *std::find_if(resolved.entries.begin(), resolved.entries.end(),
                       [&](const Entry& entry) { return entry.key == key; });
}

bool given(const Entry& entry) {
  return entry.origin != "default";
}

// Where the first of the keys that was given stands.
std::string origin_of(const ResolvedConfig& resolved, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (const Entry& entry = entry_of(resolved, key); given(entry)) return entry.origin;
  }
  return "the configuration";
}

// `key` means something only where `condition` has one of `values`.
struct Rule {
  std::string_view key;
  std::string_view condition;
  std::vector<std::string_view> values;
};

const std::vector<Rule>& rules() {
  static const std::vector<Rule> table{
      {"optim.momentum", "optim.name", {"sgd"}},
      {"optim.beta1", "optim.name", {"adamw"}},
      {"optim.beta2", "optim.name", {"adamw"}},
      {"optim.eps", "optim.name", {"adamw"}},
      {"optim.decay_steps", "optim.schedule", {"wsd"}},
      {"optim.min_lr", "optim.schedule", {"linear", "cosine", "wsd"}},
      {"train.label_smoothing", "train.loss", {"cross_entropy"}},
      {"train.loss_scale", "train.precision", {"fp16"}},
      {"train.loss_scale_growth", "train.precision", {"fp16"}},
      {"model.hidden", "model.name", {"mlp", "cnn"}},
      {"model.channels", "model.name", {"cnn"}},
      {"model.depth", "model.name", {"resnet"}},
      {"model.activation", "model.name", {"mlp"}},
      {"comm.algorithm", "train.reduction", {"fast"}},
      {"guard.max_anomalies", "guard.anomaly", {"skip", "rollback"}},
  };
  return table;
}

}  // namespace

void check_schedule(const ResolvedConfig& resolved) {
  const Config& config = resolved.config;
  const optim::ScheduleKind kind = optim::schedule_kind(config.optim.schedule);
  if (kind == optim::ScheduleKind::wsd) {
    const std::int64_t decay = optim::decay_steps_of(
        {kind, config.optim.lr, config.optim.warmup_steps, config.optim.decay_steps, config.optim.min_lr},
        config.train.steps);
    if (config.optim.warmup_steps + decay > config.train.steps) {
      throw Error(
          ExitCode::bad_config,
          fmt::format(
              "{}: optim.warmup_steps = {} and {} steps of decay (optim.decay_steps = {}) are more than "
              "train.steps = {}: make one of them shorter",
              origin_of(resolved, {"optim.decay_steps", "optim.warmup_steps", "train.steps"}),
              config.optim.warmup_steps, decay, config.optim.decay_steps, config.train.steps));
    }
  }
  if (kind != optim::ScheduleKind::constant && config.optim.min_lr > config.optim.lr) {
    throw Error(
        ExitCode::bad_config,
        fmt::format("{}: optim.min_lr = {} is above optim.lr = {}, from where the rate goes down to it",
                    origin_of(resolved, {"optim.min_lr", "optim.lr"}), config.optim.min_lr, config.optim.lr));
  }
}

std::vector<std::string> keys_without_effect(const ResolvedConfig& resolved, bool alone) {
  std::vector<std::string> found;
  for (const Rule& rule : rules()) {
    if (!given(entry_of(resolved, rule.key))) continue;
    const std::string& value = entry_of(resolved, rule.condition).value;
    if (std::find(rule.values.begin(), rule.values.end(), value) != rule.values.end()) continue;
    found.push_back(fmt::format("{} ({} = {})", rule.key, rule.condition, value));
  }
  const Config& config = resolved.config;
  if (config.guard.straggler_factor == 0 && given(entry_of(resolved, "guard.straggler_steps"))) {
    found.emplace_back("guard.straggler_steps (guard.straggler_factor = 0)");
  }
  if (config.data.test.empty()) {
    for (const std::string_view key : {"eval.every", "eval.batch", "eval.metric", "eval.min_delta"}) {
      if (given(entry_of(resolved, key))) found.push_back(fmt::format("{} (no data.test)", key));
    }
  } else if (config.eval.patience == 0) {
    if (given(entry_of(resolved, "eval.min_delta")) && !config.checkpoint.keep_best) {
      found.emplace_back("eval.min_delta (eval.patience = 0, checkpoint.keep_best = off)");
    }
  } else if (config.eval.every == 0 || config.eval.every >= config.train.steps) {
    found.push_back(
        fmt::format("eval.patience (eval.every = {}: the only evaluation is the last)", config.eval.every));
  }
  if (config.optim.schedule != "constant" && config.optim.warmup_steps >= config.train.steps) {
    found.push_back(fmt::format("optim.schedule = {} (all {} steps are warm-up)", config.optim.schedule,
                                config.train.steps));
  }
  if (alone && config.comm.overlap == "on") found.emplace_back("comm.overlap (1 rank)");
  if (alone && config.comm.algorithm != "auto" && config.train.reduction == "fast") {
    found.emplace_back("comm.algorithm (1 rank)");
  }
  if (config.comm.dtype != "f32") {
    if (alone) {
      found.emplace_back("comm.dtype (1 rank)");
    } else if (config.comm.algorithm == "mpi") {
      found.push_back(fmt::format("comm.algorithm (comm.dtype = {})", config.comm.dtype));
    }
  }
  return found;
}

}  // namespace lockstep::train
