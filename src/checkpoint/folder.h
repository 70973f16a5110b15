// The names of checkpoints in a run's folder, retention, and what dead attempts left behind. Rank 0 alone
// calls these: ranks never list a folder, because network file systems show them different things.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace lockstep::checkpoint {

// One start of a run: the Slurm job and its restart count, or any text without '/' and a number.
struct Attempt {
  std::string job;
  std::int64_t restart = 0;
};

// Throws where the run's folder has a new owner (contract C10); asked on rank 0 before every rename and
// removal.
using Fence = std::function<void()>;

struct Entry {
  std::filesystem::path path;
  std::int64_t step;
};

// "step-00001200.h5" and ".step-00001200.h5.tmp.<job>.<restart>".
std::string file_name(std::int64_t step);
std::string temporary_name(std::int64_t step, const Attempt& attempt);

// The checkpoints of a folder by name, newest first; whether they are intact is not looked at. None for a
// folder that does not exist.
std::vector<Entry> list(const std::filesystem::path& folder);

// "checkpoint of step 1200 was never completed by job 17, restart 2 (.step-...)" for each temporary file: why
// a run resumes from an older step than its log may have promised.
std::vector<std::string> unfinished(const std::filesystem::path& folder);

struct Retired {
  std::vector<std::filesystem::path> removed;  // old checkpoints
  std::vector<std::filesystem::path> damaged;  // found on the way: kept, and not counted
};

// Keeps the file of step `just_saved` and the keep - 1 newest before it whose seal and structure hold;
// removes older intact ones. Newer and damaged files stay, and those of `protected_steps` and the one that
// best.h5 points to, which are not counted. keep >= 1. Throws Error(cannot_create) where a file cannot be
// removed.
Retired retire(const std::filesystem::path& folder, std::int64_t keep, std::int64_t just_saved,
               const Fence& fence, std::span<const std::int64_t> protected_steps = {});

// Lets folder/best.h5 be a symbolic link to the checkpoint of `step`, replaced atomically and relative, so
// that the folder may be moved. Nothing where it is that already, or where there is no such checkpoint.
// Throws Error(cannot_create).
void link_best(const std::filesystem::path& folder, std::int64_t step, const Fence& fence);

// Removes temporary files of attempts that have ended: every one but those of a later restart of the same
// job. To be called while no save is under way. Returns which checkpoints were removed.
std::vector<std::filesystem::path> remove_stale_temporaries(const std::filesystem::path& folder,
                                                            const Attempt& attempt, const Fence& fence);

}  // namespace lockstep::checkpoint
