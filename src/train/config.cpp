#include "train/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <stdexcept>

#include "core/text.h"

namespace lockstep::train {

namespace {

using Setter = std::function<void(Config&, const std::string&)>;
constexpr std::int64_t unbounded = std::numeric_limits<std::int64_t>::max();

std::int64_t whole_number(const std::string& text, std::int64_t least, std::int64_t most) {
  const auto value = parse_int(text);
  if (value && *value >= least && *value <= most) return *value;
  throw std::invalid_argument(most == unbounded
                                  ? fmt::format("a whole number of at least {} is wanted", least)
                                  : fmt::format("a whole number from {} to {} is wanted", least, most));
}

double real_number(const std::string& text, double least, double most) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (!text.empty() && *end == '\0' && std::isfinite(value) && value >= least && value <= most) return value;
  throw std::invalid_argument(std::isinf(most)
                                  ? fmt::format("a number of at least {} is wanted", least)
                                  : fmt::format("a number from {} to {} is wanted", least, most));
}

// The setters below take a function that gives the member to set: a pointer to a nested member does not
// exist.
template <typename Member>
Setter whole(Member member, std::int64_t least, std::int64_t most = unbounded) {
  return [=](Config& config, const std::string& text) { member(config) = whole_number(text, least, most); };
}

template <typename Member>
Setter real(Member member, double least, double most = HUGE_VAL) {
  return [=](Config& config, const std::string& text) { member(config) = real_number(text, least, most); };
}

template <typename Member>
Setter text(Member member) {
  return [=](Config& config, const std::string& value) { member(config) = value; };
}

template <typename Member>
Setter required_path(Member member) {
  return [=](Config& config, const std::string& value) {
    if (value.empty()) throw std::invalid_argument("a folder is wanted: there is no default");
    member(config) = value;
  };
}

template <typename Member>
Setter one_of(Member member, const std::vector<std::string>& choices) {
  return [=](Config& config, const std::string& value) {
    for (const std::string& choice : choices) {
      if (value == choice) {
        member(config) = value;
        return;
      }
    }
    throw std::invalid_argument(fmt::format("one of {} is wanted", fmt::join(choices, ", ")));
  };
}

template <typename Member>
Setter sizes(Member member) {
  return [=](Config& config, const std::string& value) {
    std::vector<std::int64_t> numbers;
    for (const std::string& part : split(value, ',')) {
      numbers.push_back(whole_number(std::string(trim(part)), 1, 1 << 24));
    }
    member(config) = numbers;
  };
}

std::vector<Key> make_keys() {
  constexpr auto refused = Change::refused;
  constexpr auto allowed = Change::allowed;
  return {
      {"run.dir", "", "run folder: checkpoints, metrics, outcome; default checkpoints/NAME for NAME.conf",
       allowed, text([](Config & c) -> auto& { return c.run.dir; })},
      {"run.seed", "1", "seed of everything random", refused,
       [](Config& c, const std::string& v) {
         c.run.seed = static_cast<std::uint64_t>(whole_number(v, 0, unbounded));
       }},
      {"run.log_every", "20", "steps between progress lines", allowed,
       whole(
           [](Config & c) -> auto& { return c.run.log_every; }, 1)},

      {"data.train", "", "folder with the training shards (docs/formats.md)", allowed,
       required_path([](Config & c) -> auto& { return c.data.train; })},
      {"data.test", "", "folder with the test shards; empty: no evaluation", allowed,
       text([](Config & c) -> auto& { return c.data.test; })},
      {"data.shuffle_window", "4096", "samples of a lane that are shuffled together", refused,
       whole(
           [](Config & c) -> auto& { return c.data.shuffle_window; }, 1)},
      {"data.prefetch", "4", "micro-batches that wait ready on each rank", allowed,
       whole(
           [](Config & c) -> auto& { return c.data.prefetch; }, 1, 1024)},

      {"model.name", "mlp", "mlp or cnn", refused, text([](Config & c) -> auto& { return c.model.name; })},
      {"model.hidden", "", "widths of the hidden linear layers, as 256,128; empty: the model's own", refused,
       sizes([](Config & c) -> auto& { return c.model.hidden; })},
      {"model.channels", "", "channels of the convolutions (cnn), as 16,32; empty: the model's own", refused,
       sizes([](Config & c) -> auto& { return c.model.channels; })},
      {"model.dropout", "0", "probability that a dense layer's input is dropped in training", refused,
       real(
           [](Config & c) -> auto& { return c.model.dropout; }, 0, 0.99)},

      {"optim.name", "sgd", "optimizer: sgd", refused,
       text([](Config & c) -> auto& { return c.optim.name; })},
      {"optim.lr", "0.05", "learning rate after the warm-up", allowed,
       real(
           [](Config & c) -> auto& { return c.optim.lr; }, 0)},
      {"optim.momentum", "0.9", "momentum of sgd", allowed,
       real(
           [](Config & c) -> auto& { return c.optim.momentum; }, 0, 1)},
      {"optim.weight_decay", "0", "weight decay; not applied to biases", allowed,
       real(
           [](Config & c) -> auto& { return c.optim.weight_decay; }, 0)},
      {"optim.clip_norm", "0", "clip the gradient's global L2 norm to this; 0: no clipping", allowed,
       real(
           [](Config & c) -> auto& { return c.optim.clip_norm; }, 0)},
      {"optim.schedule", "constant", "learning rate: constant or cosine", allowed,
       one_of([](Config & c) -> auto& { return c.optim.schedule; }, {"constant", "cosine"})},
      {"optim.warmup_steps", "0", "steps of linear warm-up", allowed,
       whole(
           [](Config & c) -> auto& { return c.optim.warmup_steps; }, 0)},
      {"optim.min_lr", "0", "where the cosine ends", allowed,
       real(
           [](Config & c) -> auto& { return c.optim.min_lr; }, 0)},

      {"train.steps", "1000", "optimizer steps in total, over all attempts", allowed,
       whole(
           [](Config & c) -> auto& { return c.train.steps; }, 1)},
      {"train.global_batch", "128", "samples per optimizer step, over all ranks", refused,
       whole(
           [](Config & c) -> auto& { return c.train.global_batch; }, 1)},
      {"train.micro_batch", "32", "samples that are computed at once; divides global_batch", refused,
       whole(
           [](Config & c) -> auto& { return c.train.micro_batch; }, 1)},
      {"train.reduction", "fast", "fast, or exact: the same bits at any number of ranks", refused,
       one_of([](Config & c) -> auto& { return c.train.reduction; }, {"fast", "exact"})},
      {"train.threads", "0", "threads per rank; 0: SLURM_CPUS_PER_TASK, else 1", allowed,
       whole(
           [](Config & c) -> auto& { return c.train.threads; }, 0, 1024)},

      {"eval.every", "0", "steps between evaluations on the test split; 0: only at the end", allowed,
       whole(
           [](Config & c) -> auto& { return c.eval.every; }, 0)},
      {"eval.batch", "250", "samples per evaluation batch", refused,
       whole(
           [](Config & c) -> auto& { return c.eval.batch; }, 1)},

      {"checkpoint.every", "0", "steps between checkpoints; 0: by time only", allowed,
       whole(
           [](Config & c) -> auto& { return c.checkpoint.every; }, 0)},
      {"checkpoint.minutes", "15", "minutes between checkpoints at most; 0: by steps only", allowed,
       real(
           [](Config & c) -> auto& { return c.checkpoint.minutes; }, 0)},
      {"checkpoint.keep", "2", "checkpoints to keep", allowed,
       whole(
           [](Config & c) -> auto& { return c.checkpoint.keep; }, 1)},

      {"limits.start", "600", "seconds for start-up and resume before the run gives up (exit 76)", allowed,
       real(
           [](Config & c) -> auto& { return c.limits.start; }, 1)},
      {"limits.step", "300", "seconds for one step, its wait for data included", allowed,
       real(
           [](Config & c) -> auto& { return c.limits.step; }, 1)},
      {"limits.eval", "600", "seconds for one evaluation", allowed,
       real(
           [](Config & c) -> auto& { return c.limits.eval; }, 1)},
      {"limits.checkpoint", "600", "seconds for one checkpoint", allowed,
       real(
           [](Config & c) -> auto& { return c.limits.checkpoint; }, 1)},
  };
}

}  // namespace

std::span<const Key> config_keys() {
  static const std::vector<Key> keys = make_keys();
  return keys;
}

}  // namespace lockstep::train
