// What a run looks for among its ranks: copies of the state that differ, and ranks that are slow.
#include <fmt/format.h>

#include <algorithm>

#include "core/files.h"
#include "core/hash.h"
#include "train/replicas.h"
#include "train/run.h"

namespace lockstep::train {

// Rank 0's is in the records, the others' are to tell why a rank is slow.
void Run::watch_gpu() {
  const std::string address = learner_->device().pci_address();
  const bool records = setting_.comm.rank() == 0;
  const bool compared = setting_.comm.size() > 1 && config_.guard.straggler_factor > 0;
  if (address.empty() || !(records || compared)) return;
  gpu_monitor_ = std::make_unique<device::GpuMonitor>(address);
  if (records && !gpu_monitor_->problem().empty()) {
    setting_.log.info(
        fmt::format("no utilisation, power and temperature of the GPU: {}", gpu_monitor_->problem()));
  }
}

void Run::start_watching() {
  const int ranks = setting_.comm.size();
  const auto lanes = [&](int rank) {
    return comm::lanes_of(rank, ranks, static_cast<int>(config_.virtual_workers())).count();
  };
  // In the first steps of an attempt memory is touched, kernels are made and files are opened for the first
  // time.
  constexpr int settling = 3;
  pace_.emplace(lanes(setting_.comm.rank()), lanes(0), settling);  // the first ranks have one more
  paces_.emplace(1, 1);
  if (ranks == 1) return;
  std::vector<std::string> nodes;
  for (int i = 0; i < ranks; ++i) nodes.push_back(setting_.comm.host(i));
  if (config_.guard.straggler_factor > 0) {
    stragglers_.emplace(config_.guard.straggler_factor, std::move(nodes));
  }
  // Only in fast mode: exact mode refuses it. Rounding alone makes copies differ then.
  const auto environments = comm::gather_values(setting_.comm, hash64(learner_->environment()));
  copies_comparable_ = std::all_of(environments.begin(), environments.end(),
                                   [&](std::uint64_t each) { return each == environments.front(); });
  if (!copies_comparable_ && config_.guard.compare_every > 0) {
    setting_.log.agreed_warning(
        "guard.compare_every: the ranks' environments differ, so their copies of the parameters are not "
        "compared");
  }
}

void Run::tell_peers(const std::string& reason) noexcept {
  if (reducer_comm_) reducer_comm_->tell(reason);
}

// Beside the outcome, which is what names it. Of each rank that asks, as several may at once.
KeepReport Run::report_keeper() const {
  return [file = nccl_report(setting_.folder.path(), setting_.attempt.token(), setting_.comm.rank()),
          attempt = setting_.attempt, &folder = setting_.folder](const std::string& report) -> std::string {
    try {
      folder.fence(attempt);  // and where the folder is not yet this attempt's
      make_folders(file.parent_path());
      write_atomically(file, report);
      return fmt::format("what NCCL itself knows: {}", file.string());
    } catch (const Error&) {
      return {};
    }
  };
}

std::function<std::string()> Run::inquiry() const {
  const std::function<std::string()> ask = reducer_comm_->inquiry();
  if (!ask) return {};
  return [ask, keep = report_keeper()] {
    const std::string report = ask();
    return report.empty() ? report : keep(report);
  };
}

void Run::compare_replicas() {
  if (config_.guard.compare_every == 0 || setting_.comm.size() == 1 || !copies_comparable_) return;
  if (compared_step_ == step_) return;
  const Span span(trace_.get(), "compare copies", "agreement", step_);
  const std::string difference = train::compare_replicas(setting_.comm, learner_->state_hash());
  compared_step_ = step_;
  if (difference.empty()) return;
  const std::string text = fmt::format(
      "after step {} the ranks' copies of the state are not the same: {}; the memory or the processor of a "
      "node is at fault",
      step_, difference);
  if (records_) records_->event(step_, "diverged", text);
  throw AgreedError(
      ExitCode::peer_failed,
      fmt::format("{}; nothing of it is saved: the next attempt goes on from {}; leave the "
                  "node out (sbatch --exclude) if it happens again",
                  text,
                  saved_step_ < 0 ? "the start" : fmt::format("the checkpoint of step {}", saved_step_)));
}

void Run::watch_ranks(const StepReport& report) {
  if (config_.guard.compare_every > 0 && step_ % config_.guard.compare_every == 0) compare_replicas();
  if (log_hash_ && records_) records_->hash(step_, learner_->state_hash().whole);
  pace_->add(report);
  paces_->add(report);
  if (!stragglers_ || pace_->steps() < config_.guard.straggler_steps) return;
  const std::int64_t steps = pace_->steps();
  const auto paces = comm::gather_values(setting_.comm, pace_->pace());
  const auto throttled =
      comm::gather_values(setting_.comm, gpu_monitor_ ? gpu_monitor_->take_throttle_reasons() : 0);
  pace_->restart();
  const bool told = tell_of_paces(stragglers_->judge(paces, throttled, steps));
  if (told) record_ranks();
}

bool Run::tell_of_paces(const std::vector<PaceChange>& changes) {
  bool slow = false;
  for (const PaceChange& change : changes) {
    slow = slow || change.slow;
    if (!records_) continue;
    if (change.slow) {
      setting_.log.agreed_warning(fmt::format("step {}: {}", step_, change.text));
      records_->event(step_, "straggler", change.text);
    } else {
      setting_.log.info(fmt::format("step {}: {}", step_, change.text));
    }
  }
  if (records_ && !changes.empty()) {
    setting_.board.update([text = stragglers_->present()](Status& status) { status.stragglers = text; });
  }
  return slow;
}

void Run::record_ranks() {
  if (paces_->steps() == 0) return;
  const auto paces = comm::gather_values(setting_.comm, paces_->pace());
  if (!records_) return;
  std::vector<std::string> nodes;
  for (int i = 0; i < setting_.comm.size(); ++i) nodes.push_back(setting_.comm.host(i));
  try {
    setting_.folder.fence(setting_.attempt);
    replace_text(setting_.folder.ranks(), ranks_table(paces, nodes, paces_->steps()));
  } catch (const Error& error) {
    setting_.log.warn(error.what());  // others see less; the run itself needs none of it
  }
}

}  // namespace lockstep::train
