// A run's folder and its one owner (contract C10). All functions are for rank 0 alone unless they say
// otherwise.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "train/attempt.h"

namespace lockstep::train {

// Is the job that owns a folder still there? Returns a sentence that says how we know ("job 12 is RUNNING"),
// or nothing where it is gone.
// `here` is the name of this node.
using OwnerAlive =
    std::function<std::string(const Attempt& owner, const std::string& here, double heartbeat_age)>;

// Asks Slurm about a job of Slurm's (again after each of the `pauses` where it does not answer), and the
// process table or the heartbeat's age about anything else.
std::string owner_alive(const Attempt& owner, const std::string& here, double heartbeat_age,
                        std::span<const std::chrono::seconds> pauses = {});

// The same for who must not be turned away because the controller is just being restarted.
std::string owner_alive_patiently(const Attempt& owner, const std::string& here, double heartbeat_age);

class RunFolder {
 public:
  explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }
  std::filesystem::path metrics() const { return path_ / "metrics.csv"; }
  std::filesystem::path timings() const { return path_ / "timings.csv"; }
  std::filesystem::path evaluations() const { return path_ / "eval.csv"; }
  std::filesystem::path anomalies() const { return path_ / "anomalies.csv"; }
  std::filesystem::path hashes() const { return path_ / "hashes.csv"; }
  std::filesystem::path ranks() const { return path_ / "ranks.csv"; }
  std::filesystem::path events() const { return path_ / "events.csv"; }
  std::filesystem::path checked_data() const { return path_ / "checked"; }
  std::filesystem::path configuration() const { return path_ / "config.ini"; }
  std::filesystem::path status() const { return path_ / "status"; }
  std::filesystem::path tensorboard() const { return path_ / "tensorboard"; }
  std::filesystem::path successor() const { return path_ / "successor"; }
  std::filesystem::path late_ranks() const { return path_ / "watch"; }

  // Creates the folder where needed and makes `attempt` its owner. A folder of another job that is alive, and
  // stays so for a few seconds (a process may take that long to end after its launcher has), is refused with
  // Error(cannot_create), naming job and host; an earlier incarnation of the same job is replaced. With
  // `fresh` what is there goes into an archive first, unless this is a requeued incarnation, which repeats
  // the command line of the first start. What killed writers left half-written is removed. Returns whether it
  // is one.
  bool claim(const Attempt& attempt, const OwnerAlive& alive, bool fresh = false);

  struct Owner {
    Attempt attempt;
    bool ended = false;        // it said that it is done
    double heartbeat_age = 0;  // seconds since its last sign of life
  };
  // Nothing where the folder was never claimed. Anybody may ask.
  std::optional<Owner> owner() const;

  // Whether the owner is an earlier step of this very attempt, which may still live: then the attempt's
  // outcome is that step's to write. Any rank may ask.
  bool owned_by_step_of(const std::string& job, int restart) const;

  // Whether it is the folder of another attempt that is alive, or of a later restart of this very job: then
  // `attempt`, which may never have come to own it, has no business in its records. Anybody may ask.
  bool belongs_to_another(const Attempt& attempt, const OwnerAlive& alive) const;

  // Why the folder is not `attempt`'s any more: removed, or taken over by another job or restart; empty where
  // it is. Throws Error(internal) where that cannot be read.
  std::string lost_by(const Attempt& attempt) const;

  // Throws Error(cannot_create) unless `attempt` is still the owner: called before every rename and removal.
  void fence(const Attempt& attempt) const;

  // Tells others that the owner lives; called every few seconds.
  void heartbeat() const;

  // The owner says that it is done: the next one need not ask whether it lives. Nothing where it is not the
  // owner any more.
  void release(const Attempt& attempt) const;

  // Moves everything of the earlier run into archive-NNN/: nothing is deleted.
  void archive();

 private:
  void refuse_if_alive(const Attempt& owner, const Attempt& attempt, const OwnerAlive& alive) const;
  void remove_half_written(const Attempt& attempt) const;
  double heartbeat_age() const;
  std::filesystem::path owner_file() const { return path_ / "owner"; }
  std::filesystem::path path_;
};

}  // namespace lockstep::train
