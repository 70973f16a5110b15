// What a run says about itself at its start and at its end.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/cpus.h"
#include "core/text.h"
#include "train/config_rules.h"
#include "train/run.h"

namespace lockstep::train {

void Run::announce() const {
  if (const auto idle = keys_without_effect(setting_.resolved, setting_.comm.size() == 1); !idle.empty()) {
    setting_.log.info(fmt::format("given, but without effect: {}", fmt::join(idle, ", ")));
  }
  const int ranks = setting_.comm.size();
  const std::int64_t workers = config_.virtual_workers();
  const std::int64_t most = (workers + ranks - 1) / ranks;
  const double idle = 1.0 - static_cast<double>(workers) / static_cast<double>(most * ranks);
  setting_.log.info(fmt::format(
      "{} with {} parameters on {} training samples; {} ranks x {} threads, {} micro-batches of {} per "
      "step{}; {}",
      config_.model.name, learner_->parameter_count(), train_data_->size(), ranks, threads_, workers,
      config_.train.micro_batch,
      idle > 0 ? fmt::format(" ({:.0f} % of the ranks' time idle: use a divisor of {})", 100 * idle, workers)
               : "",
      learner_->environment()));
  if (const int cpus = usable_cpus(); threads_ > cpus) {
    setting_.log.agreed_warning(fmt::format(
        "{} threads on {} CPUs that rank 0 may use: they wait for each other; set train.threads or "
        "SLURM_CPUS_PER_TASK to at most that",
        threads_, cpus));
  }
  if (learner_->device().kind() == "cpu" && config_.train.precision == "fp16") {
    setting_.log.agreed_warning(
        "train.precision = fp16 is slow on a CPU, which computes in f32 and rounds: take bf16 where it has "
        "instructions for that (lscpu: avx512_bf16), f32 elsewhere");
  }
  if (step_ > 0) {
    setting_.log.info(fmt::format("resumed from step {} of {}", step_, config_.train.steps));
  }
}

void Run::announce_bytes() {
  auto bytes = loader_->bytes_read();
  setting_.comm.all_reduce_sum(std::span<std::int64_t>(&bytes, 1));
  const double epochs = static_cast<double>(step_ - resumed_at_) / static_cast<double>(steps_per_epoch_);
  const auto once = static_cast<double>(train_data_->bytes());
  if (epochs >= 1) {
    setting_.log.info(fmt::format("read {} of training data: {:.3f} x the {:.2f} epochs of {}",
                                  human_bytes(static_cast<double>(bytes)),
                                  static_cast<double>(bytes) / (once * epochs), epochs, human_bytes(once)));
    constexpr double too_much = 1.1;
    const auto shards = train_data_->shards();
    const bool chunked =
        std::any_of(shards.begin(), shards.end(), [](const data::Shard& s) { return s.x.chunk_rows > 0; });
    // The epoch that the run began and the one that it ended in may have been read in whole.
    const double most = too_much * once * (epochs + 2);
    if (setting_.comm.rank() == 0 && chunked && static_cast<double>(bytes) > most) {
      setting_.log.warn(
          "the shards' chunks are shared by many micro-batches and read again by each: make them smaller "
          "(docs/shard-format.md)");
    }
  }
}

}  // namespace lockstep::train
