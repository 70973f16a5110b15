// What the file system of the run folder can do: rates, fsync, locks, renames, space.
#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>

#include "core/files.h"
#include "core/text.h"
#include "doctor/file_system.h"
#include "doctor/probes.h"
#include "hdf5/serial.h"
#include "train/presence.h"

namespace lockstep::doctor {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t most_bytes = std::int64_t{64} << 20;  // of one rank
constexpr double write_seconds = 2;
constexpr double uneven = 2;  // ranks on one disk are never quite equal
constexpr std::int64_t least_free = std::int64_t{1} << 30;

// The folder of a few seconds that all ranks write into.
struct Workplace {
  ~Workplace() {
    std::error_code ignored;
    if (mine) fs::remove_all(path, ignored);
  }
  fs::path path;
  bool mine = false;  // this process has made it
  std::unique_ptr<train::Presence> presence;

  fs::path file_of(int rank) const { return path / fmt::format("rank-{}", rank); }
};
using Shared = std::shared_ptr<Workplace>;

// The stage as work that is given up where the file system does not answer.
template <typename Work>
Stage patiently(std::string_view what, const Shared& place, Work work) {
  return {[what, place, work](Context& context, Facts& mine) {
    const int rank = context.rank();
    const int size = context.size();
    mine.merge(context.patience.run(what, [place, work, rank, size] { return work(*place, rank, size); }));
  }};
}

Stage make_workplace(const Shared& place) {
  return {[place](Context& context, Facts& mine) {
    const fs::path folder = context.folder;
    const bool first = context.rank() == 0;
    mine.merge(context.patience.run(folder.string(), [place, folder, first] {
      const fs::path base = existing_folder(folder);
      const auto mounts = read_text("/proc/self/mountinfo");
      const Mount mount = mount_of(base, mounts.value_or(""));
      Facts facts = {{"folder", plain_path(folder).string()},
                     {"base", base.string()},
                     {"file_system", mount.type},
                     {"mounted_from", mount.source},
                     {"free_bytes", fmt::format("{}", free_bytes(base))}};
      if (const auto left = quota_left(mount)) facts["quota_left"] = fmt::format("{}", *left);
      if (!first) return facts;
      std::string name = (base / ".lockstep-doctor-XXXXXX").string();
      if (::mkdtemp(name.data()) == nullptr) {
        throw Error(ExitCode::cannot_create,
                    fmt::format("cannot write to {}: {}", base.string(), std::strerror(errno)));
      }
      place->path = name;
      place->mine = true;
      facts["workplace"] = name;
      return facts;
    }));
  }};
}

// Files that another node has made may be seen a moment later on some file systems: looking is repeated by
// opening, not by waiting.
Stage find_workplace(const Shared& place) {
  return {[place](Context& context, Facts&) {
    place->path = text_of(context.findings.find("folder")->second.front().facts, "workplace");
    const std::string maker = context.meeting.host(0);
    context.patience.run(place->path.string(), [place, maker] {
      std::error_code error;
      if (fs::is_directory(place->path, error)) return Facts{};
      throw Error(
          ExitCode::cannot_create,
          fmt::format("{} is not the folder that {} writes to: the run folder must lie on a file system that "
                      "all nodes share",
                      place->path.parent_path().string(), maker));
    });
  }};
}

Facts write_own(Workplace& place, int rank, int size, const char* key) {
  const std::int64_t bytes = std::min(most_bytes, free_bytes(place.path) / (std::int64_t{4} * size));
  return {{key, fmt::format("{:.6g}", write_file(place.file_of(rank), bytes, write_seconds).rate())}};
}

Facts read_others(const Workplace& place, int rank, int size) {
  // Of a rank that is probably on another node: its data are not in this node's memory.
  const Transfer transfer = read_file(place.file_of((rank + std::max(1, size / 2)) % size));
  return {{"read_rate", fmt::format("{:.6g}", transfer.rate())}};
}

Facts try_habits(Workplace& place, int rank) {
  Facts facts;
  facts["fsync_seconds"] = fmt::format("{:.6g}", slowest_sync(place.path / fmt::format("sync-{}", rank)));
  const fs::path renamed = place.path / fmt::format("renamed-{}", rank);
  write_atomically(renamed, "old");
  write_atomically(renamed, "new");
  if (read_text(renamed) != "new") {
    throw Error(ExitCode::cannot_create,
                fmt::format("a rename onto {} does not replace it", renamed.string()));
  }
  const fs::path hdf5_file = place.path / fmt::format("file-{}.h5", rank);
  hdf5::create_serial(hdf5_file).close_checked(ExitCode::cannot_create,
                                               fmt::format("close {}", hdf5_file.string()));
  const std::string problem = flock_problem(place.path / fmt::format("flock-{}", rank));
  facts["flock"] = problem.empty() ? "works" : problem;
  place.presence = std::make_unique<train::Presence>(place.path / "present", rank);
  facts["lock"] = place.presence->held() ? "held" : "not to be had";
  return facts;
}

Facts look_at_locks(Workplace& place, int rank, int size) {
  return {{"next_lock", place.presence->is_gone((rank + 1) % size) ? "not seen" : "seen"}};
}

void remove_workplace(const Shared& place, Context& context, Facts& mine) {
  if (context.rank() != 0 || !place->mine) return;
  mine["left_behind"] = place->path.string();
  context.patience.run("remove the test's files", [place] {
    fs::remove_all(place->path);
    place->mine = false;
    return Facts{};
  });
  mine.erase("left_behind");
}

std::vector<Stage> stages() {
  const auto place = std::make_shared<Workplace>();
  return {
      make_workplace(place),
      find_workplace(place),
      patiently("write", place,
                [](Workplace& at, int rank, int size) {
                  return rank == 0 ? write_own(at, rank, size, "write_rate_alone") : Facts{};
                }),
      patiently("write", place,
                [](Workplace& at, int rank, int size) { return write_own(at, rank, size, "write_rate"); }),
      patiently("read", place, [](Workplace& at, int rank, int size) { return read_others(at, rank, size); }),
      patiently("fsync, rename and locks", place,
                [](Workplace& at, int rank, int) { return try_habits(at, rank); }),
      patiently("look at locks", place,
                [](Workplace& at, int rank, int size) { return look_at_locks(at, rank, size); }),
      {[place](Context& context, Facts& mine) { remove_workplace(place, context, mine); }, true}};
}

std::string megabytes(double rate) {
  return fmt::format("{:.0f} MB/s", rate / 1e6);
}

void report_rates(Section& section) {
  const auto alone = number_of(section.ranks.front().facts, "write_rate_alone");
  const Spread writes = spread(section.ranks, "write_rate", Better::higher);
  const Spread reads = spread(section.ranks, "read_rate", Better::higher);
  const Spread syncs = spread(section.ranks, "fsync_seconds", Better::lower);
  const auto all = [&](const Spread& rates) {
    return rates.count == 1 ? std::string()
                            : fmt::format("all at once {} ({} per rank, slowest {})", megabytes(rates.sum),
                                          megabytes(rates.typical), name_of(*rates.worst_rank));
  };
  if (alone && writes.count > 0) {
    section.rows.push_back({"write", writes.count == 1
                                         ? megabytes(writes.sum)
                                         : fmt::format("one rank {}; {}", megabytes(*alone), all(writes))});
  }
  if (reads.count > 0) {
    section.rows.push_back(
        {"read", reads.count == 1 ? megabytes(reads.sum) + " (may come from memory)" : all(reads)});
  }
  if (syncs.count > 0) {
    section.rows.push_back(
        {"fsync", fmt::format("{:.1f} ms{}", syncs.worst * 1e3,
                              syncs.count == 1 ? "" : " on " + name_of(*syncs.worst_rank))});
  }
  const auto slow = [&](const Spread& spread, Better better, std::string_view what) {
    if (!stands_out(spread, better, uneven)) return;
    section.warnings.push_back(
        fmt::format("{} {}: {:.1f} times as slow as the others", name_of(*spread.worst_rank), what,
                    better == Better::higher ? spread.typical / std::max(spread.worst, 1.)
                                             : spread.worst / std::max(spread.typical, 1e-9)));
  };
  slow(writes, Better::higher, "writes slowly");
  slow(reads, Better::higher, "reads slowly");
  constexpr double noticeable_sync = 0.1;  // seconds
  if (syncs.worst > noticeable_sync) slow(syncs, Better::lower, "takes long for an fsync");
}

void report_locks(Section& section) {
  const auto with = [&](const char* key, std::string_view value) {
    return std::find_if(section.ranks.begin(), section.ranks.end(),
                        [&](const RankFacts& rank) { return text_of(rank.facts, key) == value; });
  };
  if (text_of(section.ranks.front().facts, "flock").empty()) return;
  const auto unlocked = with("lock", "not to be had");
  const auto unseen = with("next_lock", "not seen");
  const auto no_flock = std::find_if(section.ranks.begin(), section.ranks.end(), [](const RankFacts& rank) {
    return text_of(rank.facts, "flock") != "works";
  });
  const bool locks = unlocked == section.ranks.end();
  const bool seen = locks && (section.ranks.size() == 1 || unseen == section.ranks.end());
  const bool flock = no_flock == section.ranks.end();
  section.rows.push_back({"locks", fmt::format("fcntl {}; flock, which HDF5 takes by default, {}",
                                               !locks                      ? "does not work"
                                               : section.ranks.size() == 1 ? "works"
                                               : seen                      ? "works, seen by other ranks"
                                                                           : "works, not seen by other ranks",
                                               flock ? "works" : "does not work")});
  if (!locks || !seen) {
    const RankFacts& rank = !locks ? *unlocked : *unseen;
    section.warnings.push_back(
        fmt::format("{} {}: a rank that is killed is noticed only by limits.* or Slurm's KillWait; mount "
                    "with locks that all "
                    "nodes see (Lustre: flock; NFS: without nolock and local_lock)",
                    name_of(rank), !locks ? "gets no lock" : "does not see the next rank's lock"));
  }
  if (!flock) {
    section.warnings.push_back(
        fmt::format("{}: flock: {}; Lockstep needs none, h5dump and others do: "
                    "HDF5_USE_FILE_LOCKING=FALSE",
                    name_of(*no_flock), text_of(no_flock->facts, "flock")));
  }
}

void report(const Findings&, Section& section) {
  const Facts& first = section.ranks.front().facts;
  const std::string base = text_of(first, "base");
  if (base.empty()) return;
  section.rows.push_back(
      {"folder", text_of(first, "folder") + (fs::path(text_of(first, "folder")) == fs::path(base)
                                                 ? ""
                                                 : fmt::format(" (measured in {})", base))});
  const Spread free = spread(section.ranks, "free_bytes", Better::higher);
  const Spread quota = spread(section.ranks, "quota_left", Better::higher);
  section.rows.push_back(
      {"file system", fmt::format("{} from {}, {} free{}", text_of(first, "file_system"),
                                  text_of(first, "mounted_from"), human_bytes(free.worst),
                                  quota.count > 0 ? fmt::format(", quota leaves {}", human_bytes(quota.worst))
                                                  : ", no quota known")});
  if (const std::string left = text_of(first, "left_behind"); !left.empty()) {
    section.warnings.push_back(fmt::format("{} could not be removed again: remove it", left));
  }
  if (free.worst < least_free) {
    section.warnings.push_back(fmt::format("only {} are free in {}: make room, or choose another run.dir",
                                           human_bytes(free.worst), base));
  }
  report_rates(section);
  report_locks(section);
}

}  // namespace

Probe folder_probe() {
  return {"folder", "write and read rate, fsync, locks and space of the run folder's file system", stages,
          report};
}

}  // namespace lockstep::doctor
