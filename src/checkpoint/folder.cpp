#include "checkpoint/folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "checkpoint/file.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

namespace lockstep::checkpoint {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view prefix = "step-";
constexpr std::string_view suffix = ".h5";
constexpr const char* best_link = "best.h5";
constexpr const char* new_best_link = ".best.h5.tmp";
constexpr std::string_view temporary_mark = ".h5.tmp.";

std::optional<std::int64_t> step_of(std::string_view name) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  name.remove_suffix(suffix.size());
  return parse_int(name);
}

struct Temporary {
  std::int64_t step;
  Attempt owner;
};

// What ".step-00001200.h5.tmp.<job>.<restart>" says.
std::optional<Temporary> parse_temporary(const std::string& name) {
  const auto mark = name.find(temporary_mark);
  if (!name.starts_with('.') || mark == std::string::npos) return std::nullopt;
  const auto step = step_of(name.substr(1, mark + suffix.size() - 1));
  const std::string token = name.substr(mark + temporary_mark.size());
  const auto dot = token.rfind('.');
  if (dot == std::string::npos) return std::nullopt;
  const auto restart = parse_int(std::string_view(token).substr(dot + 1));
  if (!step || !restart) return std::nullopt;
  return Temporary{*step, {token.substr(0, dot), *restart}};
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    paths.push_back(at->path());
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    throw Error(ExitCode::cannot_create,
                fmt::format("cannot list folder {}: {}", folder.string(), error.message()));
  }
  return paths;
}

void remove_file(const fs::path& path, const Fence& fence) {
  fence();
  std::error_code error;
  fs::remove(path, error);
  if (error) {
    throw Error(ExitCode::cannot_create, fmt::format("cannot remove {}: {}", path.string(), error.message()));
  }
}

bool is_intact_outside_tensors(const fs::path& path) {
  try {
    describe(path);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::string file_name(std::int64_t step) {
  return fmt::format("{}{:08}{}", prefix, step, suffix);
}

std::string temporary_name(std::int64_t step, const Attempt& attempt) {
  return fmt::format(".{}.tmp.{}.{}", file_name(step), attempt.job, attempt.restart);
}

std::vector<Entry> list(const fs::path& folder) {
  std::vector<Entry> entries;
  for (const fs::path& path : files_in(folder)) {
    // Only files: opening a pipe of that name would wait for a writer.
    std::error_code error;
    const auto step = step_of(path.filename().string());
    if (step && fs::is_regular_file(path, error)) entries.push_back({path, *step});
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.step > b.step; });
  return entries;
}

std::vector<std::string> unfinished(const fs::path& folder) {
  std::vector<std::string> texts;
  for (const fs::path& path : files_in(folder)) {
    if (const auto temporary = parse_temporary(path.filename().string())) {
      texts.push_back(fmt::format("checkpoint of step {} was never completed by job {}, restart {} ({})",
                                  temporary->step, temporary->owner.job, temporary->owner.restart,
                                  path.string()));
    }
  }
  return texts;
}

Retired retire(const fs::path& folder, std::int64_t keep, std::int64_t just_saved, const Fence& fence,
               std::span<const std::int64_t> protected_steps) {
  if (keep < 1) {
    throw Error(ExitCode::bad_config, fmt::format("checkpoints to keep: {}; at least 1 is needed", keep));
  }
  std::error_code no_link;
  const fs::path linked = fs::read_symlink(folder / best_link, no_link);
  Retired retired;
  std::int64_t kept = 1;  // the one just saved
  for (const Entry& entry : list(folder)) {
    if (entry.step >= just_saved || entry.path.filename() == linked) continue;
    if (std::find(protected_steps.begin(), protected_steps.end(), entry.step) != protected_steps.end())
      continue;
    if (!is_intact_outside_tensors(entry.path)) {
      retired.damaged.push_back(entry.path);
    } else if (kept < keep) {
      ++kept;
    } else {
      remove_file(entry.path, fence);
      retired.removed.push_back(entry.path);
    }
  }
  return retired;
}

void link_best(const fs::path& folder, std::int64_t step, const Fence& fence) {
  const fs::path link = folder / best_link;
  const fs::path target = file_name(step);
  std::error_code error;
  if (!fs::exists(folder / target, error) || fs::read_symlink(link, error) == target) return;
  fence();
  const fs::path fresh = folder / new_best_link;
  fs::remove(fresh, error);  // of a save that was cut off
  fs::create_symlink(target, fresh, error);
  if (error) {
    throw Error(ExitCode::cannot_create,
                fmt::format("cannot create the link {}: {}", fresh.string(), error.message()));
  }
  rename_durably(fresh, link);
}

std::vector<fs::path> remove_stale_temporaries(const fs::path& folder, const Attempt& attempt,
                                               const Fence& fence) {
  std::vector<fs::path> removed;
  for (const fs::path& path : files_in(folder)) {
    if (path.filename() == new_best_link) remove_file(path, fence);
    const auto temporary = parse_temporary(path.filename().string());
    if (!temporary) continue;
    if (temporary->owner.job == attempt.job && temporary->owner.restart > attempt.restart) continue;
    remove_file(path, fence);
    removed.push_back(path);
  }
  return removed;
}

}  // namespace lockstep::checkpoint
