#include "train/launch.h"

#include <fmt/format.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <future>
#include <new>
#include <thread>

#include "comm/agreement.h"
#include "comm/mpi_session.h"
#include "comm/rank_order.h"
#include "core/clock.h"
#include "core/files.h"
#include "core/hash.h"
#include "core/memory_reserve.h"
#include "core/pause.h"
#include "core/process_exit.h"
#include "core/within.h"
#include "slurm/stop_signals.h"
#include "train/event_log.h"
#include "train/presence.h"
#include "train/setup_digest.h"

namespace lockstep::train {

namespace {

constexpr std::chrono::seconds heartbeat_period{2};
constexpr std::chrono::seconds time_to_record{4};  // a failure, before the process goes without

// Leaves with an outcome; the first rank to decide also says why.
class Exit {
 public:
  Exit(std::filesystem::path run, const Log& log) : run_(std::move(run)), log_(log) {}

  // Outcomes tell the step that it is in.
  void set_watchdog(Watchdog& watchdog) { watchdog_ = &watchdog; }
  // From here on this attempt has a name under which its outcome is looked for.
  void set_token(std::string token) { token_ = std::move(token); }
  // Called, after all that matters more, where this process is the one that decided that the attempt has
  // failed.
  void on_failure(std::function<void(const Outcome&)> tell) { tell_ = std::move(tell); }

  // How the ranks that wait for this one are told that they do so in vain.
  void set_parting(std::function<void(const std::string& reason)> tell_peers) {
    tell_peers_ = std::move(tell_peers);
  }

  // For the watchdog's threads. The code of all ranks is that of the first: whether the attempt is repeated
  // depends on it.
  [[noreturn]] void leave(ExitCode code, const std::string& reason) const { end(code, reason, {}); }

  // The same of the main thread, which others may wait for.
  [[noreturn]] void fail(ExitCode code, const std::string& reason) const {
    // Else the watchdog is at it, which has set the process an end.
    if (watchdog_ == nullptr || watchdog_->may_leave()) end(code, reason, tell_peers_);
    for (;;) ::pause();
  }

  // Every rank calls this with the same words; rank 0 acts.
  void agreed(ExitCode code, const std::string& reason) const {
    if (log_.rank() != 0) return;
    log_.agreed_error(reason);
    const Outcome outcome{code, step(), reason, "all ranks"};
    record(outcome);
    tell(outcome);
  }

  // Writes the outcome if this attempt has a name. Returns whether it is this one that will be read; a
  // failure is told and no more: the exit code still speaks.
  bool record(const Outcome& outcome) const {
    if (token_.empty()) return true;
    try {
      return write_outcome(run_, token_, outcome);
    } catch (const std::exception& error) {
      log_.warn(error.what());
      return true;
    }
  }

  // Any outcome but an orderly one. False where it cannot be read: a file system that stumbles must not end a
  // save.
  bool failed_already() const { return failure().has_value(); }

 private:
  std::optional<Outcome> failure() const {
    try {
      auto outcome = token_.empty() ? std::nullopt : read_outcome(run_, token_);
      if (outcome && (outcome->code == ExitCode::finished || outcome->code == ExitCode::requeue)) return {};
      return outcome;
    } catch (const Error&) {
      return {};
    }
  }

  void tell(const Outcome& outcome) const {
    try {
      if (tell_) tell_(outcome);
    } catch (const Error& error) {
      log_.warn(error.what());
    }
  }

  // What the run folder keeps waiting is not held back from people and peers, and may still come to its
  // record. A stuck file system included, this process is gone some seconds from now.
  [[noreturn]] void end(ExitCode code, const std::string& reason,
                        const std::function<void(const std::string& reason)>& tell_peers) const {
    exit_within(time_to_record, code);
    constexpr std::chrono::seconds patience{1};
    const Outcome outcome{code, step(), reason, fmt::format("rank {} on {}", log_.rank(), log_.node())};
    const auto first = apart<bool>([this, outcome] { return !failure() && record(outcome); }).share();
    if (first.wait_for(patience) != std::future_status::ready || first.get()) {
      log_.error(reason);
      if (tell_peers) tell_peers(reason);
    }
    if (first.get()) {
      tell(outcome);
      comm::MpiSession::abandon(code);
    }
    const auto earlier = failure();
    comm::MpiSession::abandon(earlier ? earlier->code : code);
  }

  std::int64_t step() const { return watchdog_ != nullptr ? watchdog_->step() : 0; }

  std::filesystem::path run_;
  const Log& log_;
  Watchdog* watchdog_ = nullptr;
  std::string token_;
  std::function<void(const Outcome&)> tell_;
  std::function<void(const std::string&)> tell_peers_;
};

// Rank 0 lets others see that the owner of the run folder lives, and what it is doing.
class Heartbeat {
 public:
  Heartbeat(const RunFolder& folder, const Attempt& attempt, const StatusBoard& board,
            const Watchdog& watchdog, const Log& log)
      : folder_(folder), attempt_(attempt), board_(board), watchdog_(watchdog), log_(log) {
    thread_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        beat();
        pause_for(heartbeat_period, stop);
      }
    });
  }

  // The last one, after the outcome.
  void stop() {
    thread_ = std::jthread();
    beat();
  }

 private:
  void beat() {
    folder_.heartbeat();
    try {
      folder_.fence(attempt_);
      Status status = board_.read();
      status.phase = watchdog_.where();
      status.written = wall_seconds();
      replace_text(folder_.status(), to_text(status));
      told_ = false;
    } catch (const Error& error) {
      // Others see less; the run itself needs none of it.
      if (!std::exchange(told_, true)) log_.warn(fmt::format("the run's status: {}", error.what()));
    }
  }

  const RunFolder& folder_;
  Attempt attempt_;
  const StatusBoard& board_;
  const Watchdog& watchdog_;
  const Log& log_;
  bool told_ = false;
  std::jthread thread_;
};

Attempt make_attempt(comm::Group& comm, const slurm::Allocation& allocation) {
  Attempt attempt;
  attempt.in_slurm = allocation.in_job();
  attempt.restart = allocation.restart_count;
  attempt.job = allocation.in_job()
                    ? allocation.job_id
                    : fmt::format("local-{}-{}", static_cast<std::int64_t>(wall_seconds()), ::getpid());
  attempt.node = allocation.node;
  attempt.pid = ::getpid();
  comm::broadcast_text(comm, attempt.job, 0);
  attempt.cluster = allocation.cluster;
  comm::broadcast_text(comm, attempt.cluster, 0);
  comm::broadcast_text(comm, attempt.node, 0);
  std::array<std::int64_t, 2> process = {attempt.pid, process_start(attempt.pid).value_or(0)};
  comm.broadcast(std::as_writable_bytes(std::span(process)), 0);
  attempt.pid = static_cast<long>(process[0]);
  attempt.started = process[1];
  return attempt;
}

// The largest micro-batch that divides the global batch and gives each rank one.
std::int64_t fitting_micro_batch(std::int64_t global_batch, int ranks) {
  std::int64_t size = std::max<std::int64_t>(1, global_batch / ranks);
  while (global_batch % size != 0) --size;
  return size;
}

void check_ranks(const Config& config, int ranks) {
  const std::int64_t workers = config.virtual_workers();
  if (ranks <= workers) return;
  const std::string fewer = workers == 1 ? "1 rank" : fmt::format("1 to {} ranks", workers);
  throw AgreedError(
      ExitCode::bad_config,
      fmt::format("{} ranks are more than the micro-batches of a step, {} (train.global_batch = {} / "
                  "train.micro_batch = {}): run {}{}",
                  ranks, workers, config.train.global_batch, config.train.micro_batch, fewer,
                  ranks <= config.train.global_batch
                      ? fmt::format(", or set train.micro_batch = {}",
                                    fitting_micro_batch(config.train.global_batch, ranks))
                      : std::string()));
}

void check_same_configuration(comm::Group& comm, const ResolvedConfig& resolved) {
  const auto all = comm::gather_values(comm, hash64(canonical_text(resolved)));
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] != all[0]) {
      throw AgreedError(
          ExitCode::bad_config,
          fmt::format("rank {} on {} reads another configuration than rank 0 on {}: give all nodes the same "
                      "file",
                      rank, comm.host(static_cast<int>(rank)), comm.host(0)));
    }
  }
}

// Before anything uses the rank: the order of ranks decides who talks to whom.
std::unique_ptr<comm::MpiGroup> join_ranks(const slurm::Allocation& allocation, Log& log,
                                           Watchdog& watchdog) {
  auto comm = std::make_unique<comm::MpiGroup>(MPI_COMM_WORLD);
  const comm::RankOrder order = comm::agree_on_order(*comm, allocation.topology);
  if (!order.is_given_order()) comm = comm->reordered(order.ranks);
  log.set_rank(comm->rank());
  watchdog.set_rank(comm->rank());
  watchdog.set_waits(comm->waits());
  if (!order.is_given_order()) {
    log.info(fmt::format(
        "ranks ordered by the cluster's topology: {}, {} nodes; their numbers are not the launcher's",
        order.groups == 1 ? "1 switch or block" : fmt::format("{} switches or blocks", order.groups),
        order.hosts));
  }
  return comm;
}

// Nothing of a run on CPUs needs NCCL, so this is a warning; the next NCCL program on these nodes will need
// it.
void compare_nccl_setups(comm::Group& comm, const slurm::Allocation& allocation, const Log& log) {
  std::vector<NcclSetup> setups;
  for (std::string& digest : comm::gather_texts(comm, allocation.nccl_digest)) {
    setups.push_back({comm.host(static_cast<int>(setups.size())), std::move(digest)});
  }
  for (const std::string& line : setup_differences(setups)) log.agreed_warning(line);
}

void claim(comm::Group& comm, RunFolder& folder, const Attempt& attempt, const RunOptions& options,
           const ResolvedConfig& resolved, const Log& log) {
  comm::agree(comm, "use the run folder", [&] {
    if (comm.rank() != 0) return;
    const bool requeued = folder.claim(attempt, owner_alive_patiently, options.fresh);
    if (requeued && options.fresh) {
      log.info("requeued: --fresh was obeyed at the first start and is not repeated");
    }
    std::filesystem::remove_all(folder.late_ranks());
    std::filesystem::remove(folder.path() / "outcome" / attempt.token());
    for (int rank = 0; rank < comm.size(); ++rank)
      std::filesystem::remove(nccl_report(folder.path(), attempt.token(), rank));
    // The first start's is there from the beginning: should it fail, `lockstep requeue` finds run.hook in it.
    // A later start may still be refused for its configuration, and replaces it once it is not.
    if (const auto file = folder.configuration(); !std::filesystem::exists(file)) {
      write_atomically(file, to_ini(resolved, true), [&] { folder.fence(attempt); });
    }
  });
}

// Runs `work`, which gives an exit code. An error of this rank alone ends the process at once, before
// anything that `work` built outside itself is destroyed: a destructor could wait for a thread, a thread for
// a file system. One that all ranks have agreed on is told by rank 0, and all end in order with its code.
template <typename Work>
int or_leave(const Exit& exit, Work&& work) {
  constexpr std::size_t enough = 64 << 20;  // for a thread's stack, a message and an outcome
  MemoryReserve reserve(enough);
  try {
    return work();
  } catch (const AgreedError& error) {
    // In order, but not for ever: the launcher's daemon, which MPI takes its leave from, may be part of the
    // trouble.
    exit_within(std::chrono::seconds(10), error.code());
    exit.agreed(error.code(), error.what());
    return static_cast<int>(error.code());
  } catch (const Error& error) {
    exit.fail(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    reserve.give_back();
    // A fault of this node, not of the program: another attempt may get another one.
    exit.fail(ExitCode::peer_failed,
              "out of memory: ask Slurm for more (--mem), use more nodes, or a smaller train.micro_batch");
  } catch (const std::exception& error) {
    exit.fail(ExitCode::internal, fmt::format("internal error: {}", error.what()));
  }
}

}  // namespace

int launch(const ResolvedConfig& resolved, const RunOptions& options) {
  slurm::install_stop_signals();
  const slurm::Allocation allocation = slurm::read_allocation(slurm::process_environment());
  Log log(allocation.rank_hint, allocation.node);
  RunFolder folder(resolved.config.run.dir);
  Exit exit(folder.path(), log);
  if (allocation.in_job() && !folder.owned_by_step_of(allocation.job_id, allocation.restart_count)) {
    exit.set_token(fmt::format("{}.{}", allocation.job_id, allocation.restart_count));
  }
  // Outlives MPI and the watchdog, as a finished run grants it more time than they do.
  std::unique_ptr<Hook> hook;
  Watchdog watchdog(resolved.config.limits, allocation.node, allocation.rank_hint);
  exit.set_watchdog(watchdog);

  std::unique_ptr<comm::MpiSession> mpi;
  std::unique_ptr<comm::MpiGroup> comm;
  StatusBoard board;
  std::unique_ptr<Heartbeat> heartbeat;
  std::unique_ptr<Run> run;
  return or_leave(exit, [&] {
    mpi = std::make_unique<comm::MpiSession>();
    comm = join_ranks(allocation, log, watchdog);
    check_ranks(resolved.config, comm->size());
    check_same_configuration(*comm, resolved);
    compare_nccl_setups(*comm, allocation, log);
    const Attempt attempt = make_attempt(*comm, allocation);
    hook = std::make_unique<Hook>(
        HookSetting{resolved.config.run.hook, folder.path(), attempt.job, attempt.restart}, log);
    run = std::make_unique<Run>(
        Run::Setting{resolved, allocation, attempt, folder, *comm, watchdog, board, *hook, log});
    run->prepare();
    claim(*comm, folder, attempt, options, resolved, log);
    exit.set_token(attempt.token());
    exit.on_failure([&folder, attempt](const Outcome& outcome) {
      folder.fence(attempt);  // the story of a folder that is another's by now is not ours to tell
      append_event(folder.events(), outcome.step, "failed",
                   fmt::format("exit code {}; {}; says {}", static_cast<int>(outcome.code), outcome.reason,
                               outcome.who));
    });
    watchdog.set_run(
        {folder.late_ranks(), attempt.token(), comm->rank(), comm::gather_texts(*comm, allocation.node),
         [&](ExitCode code, const std::string& reason) { exit.leave(code, reason); },
         [&] { return exit.failed_already(); }, watch_next_rank(*comm, folder.late_ranks()), run->inquiry()});
    exit.set_parting([&run](const std::string& reason) { run->tell_peers(reason); });
    if (comm->rank() == 0) {
      board.update([&](Status& status) {
        status.job = attempt.job;
        status.restart = attempt.restart;
        status.node = attempt.node;
        status.ranks = comm->size();
        status.total = resolved.config.train.steps;
      });
      heartbeat = std::make_unique<Heartbeat>(folder, attempt, board, watchdog, log);
    }

    run->start(options);
    Outcome outcome = run->execute();
    watchdog.enter(Phase::finish, outcome.step);
    comm->barrier();
    if (comm->rank() == 0) {
      outcome.who = fmt::format("rank 0 on {}", attempt.node);
      exit.record(outcome);
      heartbeat->stop();
      // A job that is going to be requeued keeps its folder.
      if (!attempt.in_slurm || outcome.code == ExitCode::finished) folder.release(attempt);
      log.info(outcome.code == ExitCode::finished
                   ? fmt::format("finished: {}", outcome.reason)
                   : fmt::format("stopped after step {} ({}); start it again to go on", outcome.step,
                                 outcome.reason));
      // Nobody waits for a run that is to start again: once rank 0 has left MPI, srun ends what is left of
      // the step.
      if (outcome.code != ExitCode::finished) hook->leave(hook_farewell);
      hook->grant(hook_limit);
    }
    return static_cast<int>(outcome.code);
  });
}

}  // namespace lockstep::train
