#include "train/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "core/clock.h"
#include "core/files.h"
#include "core/text.h"
#include "slurm/queries.h"

namespace lockstep::train {

namespace fs = std::filesystem;

namespace {

// An owner outside Slurm, on another host, counts as gone when it has not been heard of for this long.
constexpr double heartbeat_limit = 60;

// How long a process may outlive the launcher that was waited for, as mpirun's do after a failure.
constexpr std::chrono::seconds patience{5};
constexpr std::chrono::milliseconds look_again{50};

bool says_ended(const std::string& text) {
  return text.find("\nended=1\n") != std::string::npos;
}

bool same(const Attempt& a, const Attempt& b) {
  return a.job == b.job && a.restart == b.restart && a.cluster == b.cluster && a.node == b.node &&
         a.pid == b.pid;
}

// Slurm can tell about the one where the other is.
bool on_same_cluster(const Attempt& a, const Attempt& b) {
  return a.in_slurm && b.in_slurm && a.cluster == b.cluster;
}

}  // namespace

std::string owner_alive(const Attempt& owner, const std::string& here, double heartbeat_age,
                        std::span<const std::chrono::seconds> pauses) {
  if (owner.in_slurm) {
    const auto answer = slurm::job_state(owner.job, pauses);
    if (answer.job) {
      return slurm::is_over(*answer.job) ? "" : fmt::format("job {} is {}", owner.job, answer.job->state);
    }
    if (answer.answered) return "";
  } else if (owner.node == here) {
    const bool exists = process_start(owner.pid) == owner.started;
    return exists ? fmt::format("process {} is running", owner.pid) : "";
  }
  if (heartbeat_age < heartbeat_limit)
    return fmt::format("it gave a sign of life {:.0f} s ago", heartbeat_age);
  return "";
}

std::string owner_alive_patiently(const Attempt& owner, const std::string& here, double heartbeat_age) {
  return owner_alive(owner, here, heartbeat_age, slurm::restart_pauses);
}

bool RunFolder::claim(const Attempt& attempt, const OwnerAlive& alive, bool fresh) {
  make_folders(checkpoints());
  // Two jobs that start in the same moment: the lock makes one of them look after the other has written.
  const FileDescriptor lock = open_file(path_ / ".claim", O_RDWR | O_CREAT, 0644, ExitCode::cannot_create);
  (void)::flock(lock.get(), LOCK_EX);  // a file system without locks still has the owner file

  bool requeued = false;
  if (const auto text = read_text(owner_file())) {
    Attempt owner = parse_attempt(*text);
    const bool torn = owner.job.empty();  // nobody's
    const bool same_cluster = on_same_cluster(owner, attempt);
    const bool same_job = same_cluster && owner.job == attempt.job;
    if (same_job && owner.restart > attempt.restart) {
      throw Error(ExitCode::cannot_create,
                  fmt::format("run folder {} belongs to restart {} of this job; this is restart {}",
                              path_.string(), owner.restart, attempt.restart));
    }
    requeued = same_job && owner.restart < attempt.restart;
    // Slurm cannot tell about another step of this very job, nor about another cluster's: their process and
    // their heartbeat can.
    owner.in_slurm = same_cluster && !same_job;
    if (!requeued && !torn && !says_ended(*text)) refuse_if_alive(owner, attempt, alive);
  }
  // Before the folder has the new owner's name: a start that dies in between is obeyed again.
  if (fresh && !requeued) archive();
  write_atomically(owner_file(), to_text(attempt));
  remove_half_written(attempt);
  return requeued;
}

// Temporary names of small files (checkpoints have their own). A predecessor that still holds one publishes
// nothing any more. Of outcomes those of this attempt stay: another rank may be writing one just now.
void RunFolder::remove_half_written(const Attempt& attempt) const {
  const std::string own_outcome = "." + attempt.token() + ".";
  std::error_code error;
  for (const fs::path& folder : {path_, path_ / "outcome", checked_data()}) {
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
      const std::string name = at->path().filename().string();
      const bool outcome = folder.filename() == "outcome";
      const bool half_written = name.starts_with('.') && (outcome ? !name.starts_with(own_outcome) &&
                                                                        !name.starts_with("." + own_outcome)
                                                                  : name.find(".tmp.") != std::string::npos);
      std::error_code ignored;
      if (half_written) fs::remove(at->path(), ignored);
    }
  }
}

void RunFolder::refuse_if_alive(const Attempt& owner, const Attempt& attempt, const OwnerAlive& alive) const {
  const double age = heartbeat_age();
  std::string reason = alive(owner, attempt.node, age);
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!reason.empty() && !owner.in_slurm && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(look_again);
    reason = alive(owner, attempt.node, age);
  }
  if (reason.empty()) return;
  throw Error(
      ExitCode::cannot_create,
      fmt::format("run folder {} is in use by job {} on {} ({}); give this run another run.dir, or end "
                  "that job first",
                  path_.string(), owner.job, owner.node, reason));
}

double RunFolder::heartbeat_age() const {
  struct stat status {};
  return ::stat(owner_file().c_str(), &status) == 0 ? wall_seconds() - static_cast<double>(status.st_mtime)
                                                    : heartbeat_limit;
}

std::optional<RunFolder::Owner> RunFolder::owner() const {
  const auto text = read_text(owner_file());
  if (!text) return std::nullopt;
  return Owner{parse_attempt(*text), says_ended(*text), heartbeat_age()};
}

bool RunFolder::owned_by_step_of(const std::string& job, int restart) const {
  const auto text = read_text(owner_file());
  if (!text) return false;
  const Attempt owner = parse_attempt(*text);
  return owner.in_slurm && owner.job == job && owner.restart == restart;
}

bool RunFolder::belongs_to_another(const Attempt& attempt, const OwnerAlive& alive) const {
  auto known = owner();
  if (!known || known->attempt.job.empty() || known->ended) return false;
  Attempt& other = known->attempt;
  const bool same_cluster = on_same_cluster(other, attempt);
  if (same_cluster && other.job == attempt.job) return other.restart > attempt.restart;
  other.in_slurm = same_cluster;
  return !alive(other, attempt.node, known->heartbeat_age).empty();
}

std::string RunFolder::lost_by(const Attempt& attempt) const {
  const auto text = read_text(owner_file());
  if (!text) {
    return fmt::format("run folder {} was removed or replaced while it was in use (it has no file 'owner')",
                       path_.string());
  }
  const Attempt owner = parse_attempt(*text);
  if (same(owner, attempt)) return "";
  return fmt::format("run folder {} now belongs to job {} (restart {}, on {}): this attempt leaves it alone",
                     path_.string(), owner.job, owner.restart, owner.node);
}

void RunFolder::fence(const Attempt& attempt) const {
  if (const std::string reason = lost_by(attempt); !reason.empty()) {
    throw Error(ExitCode::cannot_create, reason);
  }
}

void RunFolder::release(const Attempt& attempt) const {
  const auto text = read_text(owner_file());
  if (text && same(parse_attempt(*text), attempt))
    write_atomically(owner_file(), to_text(attempt) + "ended=1\n");
}

void RunFolder::heartbeat() const {
  // Only the time stamp: rewriting the text could overwrite a successor's claim.
  (void)::utimensat(AT_FDCWD, owner_file().c_str(), nullptr, 0);
}

void RunFolder::archive() {
  int number = 1;
  fs::path target;
  do target = path_ / fmt::format("archive-{:03}", number++);
  while (fs::exists(target));
  bool anything = false;
  for (const fs::directory_entry& entry : fs::directory_iterator(path_)) {
    const std::string name = entry.path().filename().string();
    if (name == "owner" || name == ".claim" || name.starts_with("archive-")) continue;
    if (name == "checkpoints" && fs::is_empty(entry.path())) continue;
    if (!anything) make_folders(target);
    anything = true;
    rename_durably(entry.path(), target / name);
  }
  make_folders(checkpoints());
}

}  // namespace lockstep::train
