// Everything that a run depends on, in one place. `lockstep train --help` prints the table of
// keys in config.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace lockstep::train {

struct Config {
  struct Run {
    std::string dir;
    std::uint64_t seed = 0;
    std::int64_t log_every = 0;  // steps
    std::string hook;            // a shell command; empty: none
    bool tensorboard = false;
  } run;
  struct Data {
    std::string train;
    std::string test;                 // empty: no evaluation
    std::int64_t shuffle_window = 0;  // samples
    std::int64_t prefetch = 0;        // micro-batches
    std::int64_t crop_padding = 0;    // pixels; 0: no random crop
    bool flip = false;
    std::string check;
  } data;
  struct Model {
    std::string name;
    std::vector<std::int64_t> hidden;
    std::vector<std::int64_t> channels;
    std::int64_t depth = 0;
    std::string activation;
    double dropout = 0;
  } model;
  struct Optim {
    std::string name;
    double lr = 0;
    double momentum = 0;
    double beta1 = 0;
    double beta2 = 0;
    double eps = 0;
    double weight_decay = 0;
    double clip_norm = 0;  // 0: no clipping
    std::string schedule;
    std::int64_t warmup_steps = 0;
    std::int64_t decay_steps = 0;  // wsd
    double min_lr = 0;
    double ema_decay = 0;  // 0: no average
  } optim;
  struct Train {
    std::int64_t steps = 0;
    std::int64_t global_batch = 0;
    std::int64_t micro_batch = 0;
    std::string reduction;
    std::string loss;
    double label_smoothing = 0;
    std::int64_t threads = 0;  // 0: what the launcher gives this task
    std::string device;
    double device_memory = 0;  // share of a GPU's free memory that is taken at the start
    std::string precision;     // the weights themselves, their gradients and the optimizer's state are f32
    double loss_scale = 0;     // fp16: at the start, a power of two
    std::int64_t loss_scale_growth = 0;  // updates
  } train;
  struct Eval {
    std::int64_t every = 0;  // steps; 0: only at the end
    std::int64_t batch = 0;
    std::string metric;
    std::int64_t patience = 0;  // evaluations; 0: no early stop
    double min_delta = 0;
  } eval;
  struct Checkpoint {
    std::int64_t every = 0;  // steps; 0: not by steps
    double minutes = 0;      // since the last one; 0: not by time
    std::int64_t keep = 0;
    bool keep_best = false;
  } checkpoint;
  struct Guard {
    std::string anomaly;
    double spike_factor = 0;         // 0: only what is not finite counts
    std::int64_t max_anomalies = 0;  // in a row
    double stalled_minutes = 0;      // 0: no alert
    std::int64_t compare_every = 0;  // steps; 0: never
    double straggler_factor = 0;     // 0: no report
    std::int64_t straggler_steps = 0;
  } guard;
  struct Comm {
    std::string algorithm;
    std::string overlap;
    std::int64_t bucket_mib = 0;  // of f32
    std::string dtype;            // of gradients between ranks
  } comm;
  // Seconds that each wait may take before the run leaves with exit code 76 (contract C7).
  struct Limits {
    double start = 0;
    double step = 0;
    double eval = 0;
    double checkpoint = 0;
  } limits;

  // V of contract C1: the number of micro-batches in a global batch.
  std::int64_t virtual_workers() const { return train.global_batch / train.micro_batch; }
};

// What a changed value means when a run is resumed (contract C10). The folders of the data may change: the
// data themselves are compared by their fingerprint.
enum class Change {
  refused,  // it would be another run: needs --fork
  allowed,  // taken over and logged
};

struct Key {
  std::string name;  // "section.key"
  std::string default_text;
  std::string help;
  Change change;
  // Parses and checks the text; throws std::invalid_argument saying what is wanted.
  std::function<void(Config&, const std::string&)> set;
};

std::span<const Key> config_keys();

}  // namespace lockstep::train
