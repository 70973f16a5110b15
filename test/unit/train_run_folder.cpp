#include "train/run_folder.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <limits>

#include "core/files.h"
#include "temp_folder.h"
#include "train/outcome.h"
#include "train/step_log.h"

using namespace lockstep;
using namespace lockstep::train;

namespace {

Attempt slurm_attempt(const std::string& job, int restart) {
  return {job, restart, "cluster", "n1", 100 + restart, 0, true};
}

const OwnerAlive alive = [](const Attempt& owner, const std::string&, double) {
  return "job " + owner.job + " is RUNNING";
};
const OwnerAlive gone = [](const Attempt&, const std::string&, double) { return std::string(); };

}  // namespace

TEST_CASE("a live job's folder is refused, naming job and node", "[run-folder]") {
  const TempFolder folder;
  RunFolder run(folder / "run");
  CHECK_FALSE(run.claim(slurm_attempt("12", 0), gone));
  REQUIRE_THROWS_WITH(run.claim(slurm_attempt("13", 0), alive),
                      Catch::Contains("in use by job 12 on n1 (job 12 is RUNNING)"));
  CHECK_NOTHROW(run.fence(slurm_attempt("12", 0)));
}

TEST_CASE("a folder whose owner said that it is done is free", "[run-folder]") {
  const TempFolder folder;
  RunFolder run(folder / "run");
  run.claim(slurm_attempt("12", 0), gone);
  run.release(slurm_attempt("12", 0));
  CHECK_FALSE(run.claim(slurm_attempt("13", 0), alive));
  run.release(slurm_attempt("12", 0));
  CHECK_THROWS_AS(run.claim(slurm_attempt("14", 0), alive), Error);
}

TEST_CASE("what killed writers left half-written goes with the next start", "[run-folder]") {
  const TempFolder folder;
  RunFolder run(folder / "run");
  run.claim(slurm_attempt("12", 0), gone);
  make_folders(run.path() / "outcome");
  make_folders(run.checked_data());
  for (const char* name : {".status.tmp.77", ".owner.tmp.78", ".config.ini.tmp.1", "outcome/.12.0.00ab.77",
                           "outcome/..12.0.00ab.77.tmp.77", "checked/.test.tmp.77", "outcome/.12.1.00ab.5",
                           "outcome/..12.1.00ab.5.tmp.5", "outcome/12.0", ".mine", "x.tmp.1"}) {
    write_atomically(run.path() / name, "text");
  }
  run.claim(slurm_attempt("12", 1), gone);
  const auto exists = [&](const char* name) { return std::filesystem::exists(run.path() / name); };
  for (const char* name : {".status.tmp.77", ".owner.tmp.78", ".config.ini.tmp.1", "outcome/.12.0.00ab.77",
                           "outcome/..12.0.00ab.77.tmp.77", "checked/.test.tmp.77"}) {
    INFO(name);
    CHECK_FALSE(exists(name));
  }
  // Another rank of this attempt may be writing; and what is no temporary name is somebody's.
  for (const char* name :
       {"outcome/.12.1.00ab.5", "outcome/..12.1.00ab.5.tmp.5", "outcome/12.0", ".mine", "x.tmp.1"}) {
    INFO(name);
    CHECK(exists(name));
  }
}

TEST_CASE("a dead job's folder is taken over", "[run-folder]") {
  const TempFolder folder;
  RunFolder run(folder / "run");
  run.claim(slurm_attempt("12", 0), gone);
  CHECK_FALSE(run.claim(slurm_attempt("13", 0), gone));
  CHECK_NOTHROW(run.fence(slurm_attempt("13", 0)));
}

TEST_CASE("a requeued incarnation fences out its predecessor, and not the other way round", "[run-folder]") {
  const TempFolder folder;
  RunFolder run(folder / "run");
  run.claim(slurm_attempt("12", 0), gone);
  CHECK(run.claim(slurm_attempt("12", 1), alive));
  REQUIRE_THROWS_WITH(run.fence(slurm_attempt("12", 0)), Catch::Contains("belongs to job 12 (restart 1"));
  CHECK_THROWS_AS(run.claim(slurm_attempt("12", 0), alive), Error);
  CHECK_NOTHROW(run.fence(slurm_attempt("12", 1)));
}

TEST_CASE("a predecessor that is held between its fence and its rename replaces nothing", "[run-folder]") {
  const TempFolder folder;
  RunFolder run(folder / "run");
  const Attempt before = slurm_attempt("12", 0);
  run.claim(before, gone);
  std::filesystem::create_directories(run.checked_data());
  for (const std::filesystem::path& file :
       {run.metrics(), run.configuration(), run.checked_data() / "test"}) {
    const auto held = [&] {
      run.fence(before);
      RunFolder(run.path()).claim(slurm_attempt("12", 1), alive);
      std::ofstream(file) << "the successor's";
    };
    REQUIRE_THROWS_AS(write_atomically(file, "the predecessor's", held), Error);
    CHECK(read_text(file) == "the successor's");
    std::filesystem::remove(run.path() / "owner");
    run.claim(before, gone);
  }
}

TEST_CASE("a folder that was removed or replaced is nobody's", "[run-folder]") {
  const TempFolder folder;
  RunFolder run(folder / "run");
  run.claim(slurm_attempt("12", 0), gone);
  CHECK(run.lost_by(slurm_attempt("12", 0)).empty());
  std::filesystem::remove_all(run.path());
  CHECK_THAT(run.lost_by(slurm_attempt("12", 0)), Catch::Contains("was removed or replaced"));
  REQUIRE_THROWS_WITH(run.fence(slurm_attempt("12", 0)), Catch::Contains("was removed or replaced"));
}

TEST_CASE("a second step of the same job is no requeued incarnation", "[run-folder]") {
  const TempFolder folder;
  RunFolder run(folder / "run");
  run.claim(slurm_attempt("12", 1), gone);
  // The job is RUNNING in either case: only process and heartbeat can tell.
  const OwnerAlive by_process = [](const Attempt& owner, const std::string& here, double) {
    CHECK_FALSE(owner.in_slurm);
    CHECK(here == "n1");
    return std::string("process 101 is running");
  };
  CHECK_THROWS_AS(run.claim(slurm_attempt("12", 1), by_process), Error);
  CHECK_FALSE(run.claim(slurm_attempt("12", 1), gone));
}

TEST_CASE("the same job id on another cluster is another job", "[run-folder]") {
  const TempFolder folder;
  RunFolder run(folder / "run");
  run.claim(slurm_attempt("12", 0), gone);
  Attempt other = slurm_attempt("12", 1);
  other.cluster = "elsewhere";
  CHECK_THROWS_AS(run.claim(other,
                            [](const Attempt& owner, const std::string&, double) {
                              CHECK_FALSE(owner.in_slurm);
                              return std::string("it gave a sign of life 3 s ago");
                            }),
                  Error);
  CHECK_FALSE(run.claim(other, gone));
}

TEST_CASE("fresh archives at the first start and not again in a requeued one", "[run-folder]") {
  const TempFolder folder;
  RunFolder run(folder / "run");
  run.claim(slurm_attempt("11", 0), gone);
  write_atomically(run.metrics(), "old");
  CHECK_FALSE(run.claim(slurm_attempt("12", 0), gone, true));
  CHECK(read_text(run.path() / "archive-001/metrics.csv") == "old");
  write_atomically(run.metrics(), "new");
  CHECK(run.claim(slurm_attempt("12", 1), alive, true));
  CHECK(read_text(run.metrics()) == "new");
  // A second step of the job asks for it anew.
  CHECK_FALSE(run.claim(slurm_attempt("12", 1), gone, true));
  CHECK(read_text(run.path() / "archive-002/metrics.csv") == "new");
}

TEST_CASE("a process that is there owns its folder, one that is gone does not", "[run-folder]") {
  const auto start = process_start(getpid());
  REQUIRE(start);
  CHECK_FALSE(owner_alive({"local-1", 0, "", "here", getpid(), *start, false}, "here", 1e9).empty());
  // Another process that has got the same pid since.
  CHECK(owner_alive({"local-1", 0, "", "here", getpid(), *start - 1, false}, "here", 0).empty());
  CHECK(owner_alive({"local-1", 0, "", "here", 2147483000, 1, false}, "here", 0).empty());
  CHECK_FALSE(owner_alive({"local-1", 0, "", "there", 1, 1, false}, "here", 5).empty());
  CHECK(owner_alive({"local-1", 0, "", "there", 1, 1, false}, "here", 3600).empty());
  // A zombie, which nobody has waited for yet, is gone.
  const pid_t child = fork();
  if (child == 0) _exit(0);
  siginfo_t info{};
  REQUIRE(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) == 0);
  CHECK_FALSE(process_start(child));
  waitpid(child, nullptr, 0);
}

TEST_CASE("a folder is another's while that lives", "[run-folder]") {
  const TempFolder folder;
  const RunFolder run(folder / "run");
  CHECK_FALSE(run.belongs_to_another(slurm_attempt("13", 0), alive));  // nobody's
  RunFolder(run.path()).claim(slurm_attempt("12", 1), gone);
  CHECK(run.belongs_to_another(slurm_attempt("13", 0), alive));
  CHECK_FALSE(run.belongs_to_another(slurm_attempt("13", 0), gone));
  CHECK(run.belongs_to_another(slurm_attempt("12", 0), gone));
  CHECK_FALSE(run.belongs_to_another(slurm_attempt("12", 1), alive));
  CHECK_FALSE(run.belongs_to_another(slurm_attempt("12", 2), alive));  // that died before its claim
  run.release(slurm_attempt("12", 1));
  CHECK_FALSE(run.belongs_to_another(slurm_attempt("13", 0), alive));
}

TEST_CASE("one question that Slurm leaves unanswered does not make an owner live", "[run-folder]") {
  const TempFolder folder;
  const auto scontrol = folder / "scontrol";
  write_atomically(scontrol, fmt::format("#!/bin/sh\n[ -e {0} ] || {{ : >{0}; exit 1; }}\n"
                                         "echo JobId=12 JobState=FAILED Reason=None Restarts=0\n",
                                         (folder / "asked").string()));
  std::filesystem::permissions(scontrol, std::filesystem::perms::owner_all);
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", fmt::format("{}:{}", folder.path().string(), path).c_str(), 1);
  const std::string once = owner_alive(slurm_attempt("12", 0), "n1", 3);
  std::filesystem::remove(folder / "asked");
  const std::string patiently = owner_alive_patiently(slurm_attempt("12", 0), "n1", 3);
  ::setenv("PATH", path.c_str(), 1);
  CHECK(once == "it gave a sign of life 3 s ago");
  CHECK(patiently.empty());
}

TEST_CASE("fresh moves everything into an archive and deletes nothing", "[run-folder]") {
  const TempFolder folder;
  RunFolder run(folder / "run");
  run.claim(slurm_attempt("12", 0), gone);
  write_atomically(run.metrics(), "one");
  write_atomically(run.checkpoints() / "step-00000001.h5", "two");
  run.archive();
  CHECK(read_text(run.path() / "archive-001/metrics.csv") == "one");
  CHECK(read_text(run.path() / "archive-001/checkpoints/step-00000001.h5") == "two");
  CHECK_FALSE(std::filesystem::exists(run.metrics()));
  CHECK(std::filesystem::is_empty(run.checkpoints()));
  CHECK_NOTHROW(run.fence(slurm_attempt("12", 0)));
  run.archive();
  CHECK_FALSE(std::filesystem::exists(run.path() / "archive-002"));
}

TEST_CASE("the first outcome of an attempt is the one that stays", "[outcome]") {
  const TempFolder folder;
  CHECK_FALSE(read_outcome(folder.path(), "5.0"));
  CHECK(
      write_outcome(folder.path(), "5.0", {ExitCode::peer_failed, 7, "rank 2 hangs\nbadly", "rank 1 on n2"}));
  CHECK_FALSE(write_outcome(folder.path(), "5.0", {ExitCode::requeue, 9, "signal TERM", "rank 0 on n1"}));
  CHECK(write_outcome(folder.path(), "5.1", {ExitCode::finished, 10, "done", "rank 0 on n1"}));
  const auto outcome = read_outcome(folder.path(), "5.0");
  REQUIRE(outcome);
  CHECK(outcome->code == ExitCode::peer_failed);
  CHECK(outcome->step == 7);
  CHECK(outcome->reason == "rank 2 hangs badly");
  CHECK(outcome->who == "rank 1 on n2");
  CHECK(std::distance(std::filesystem::directory_iterator(folder / "outcome"), {}) == 2);
}

TEST_CASE("rows after the checkpoint and a torn row are dropped on resume", "[step-log]") {
  const TempFolder folder;
  const auto path = folder / "metrics.csv";
  {
    StepLog log(path, "step,loss", 0);
    CHECK(log.last_row_at_start() == 0);
    log.append("1,0.5");
    log.append("2,0.25");
    log.append("3,0.125");
    log.sync();
  }
  write_atomically(path, *read_text(path) + "4,0.0");
  {
    StepLog log(path, "step,loss", 2);
    CHECK(log.last_row_at_start() == 2);
    log.append("3,0.75");
  }
  CHECK(read_text(path) == "step,loss\n1,0.5\n2,0.25\n3,0.75\n");
  StepLog none(path, "step,loss", 0);
  CHECK(read_text(path) == "step,loss\n");
}

TEST_CASE("rows are replaced in one change, and later ones follow", "[step-log]") {
  const TempFolder folder;
  const auto path = folder / "metrics.csv";
  StepLog log(path, "step,loss", 0);
  for (const char* row : {"1,0.5", "2,0.25", "3,9"}) log.append(row);
  log.replace_after(1, {"2,", "3,"});
  log.append("4,0.125");
  CHECK(read_text(path) == "step,loss\n1,0.5\n2,\n3,\n4,0.125\n");
  log.replace_after(-1, {});
  CHECK(read_text(path) == "step,loss\n");
}

TEST_CASE("a file that is another attempt's by now is left as it is", "[step-log]") {
  const TempFolder folder;
  const auto path = folder / "metrics.csv";
  bool ours = true;
  const auto fence = [&] {
    if (!ours) throw Error(ExitCode::cannot_create, "belongs to job 18");
  };
  StepLog log(path, "step,loss", 0, fence);
  log.append("1,0.5");
  log.append("2,0.25");
  ours = false;
  CHECK_THROWS_WITH(log.replace_after(1, {"2,"}), Catch::Contains("job 18"));
  CHECK_THROWS_WITH(StepLog(path, "step,loss", 0, fence), Catch::Contains("job 18"));
  CHECK(read_text(path) == "step,loss\n1,0.5\n2,0.25\n");
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
  ours = true;
  log.replace_after(1, {"2,"});
  CHECK(read_text(path) == "step,loss\n1,0.5\n2,\n");
}

TEST_CASE("fields of a row hold no separator, and a NaN no sign", "[step-log]") {
  CHECK(csv_field("a,b\nc") == "a;b;c");
  CHECK(csv_field(0.1) == "0.1");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(csv_field(nan) == "nan");
  CHECK(csv_field(-nan) == "nan");
  CHECK(csv_field(-std::numeric_limits<double>::infinity()) == "-inf");
}

namespace {

// Files can grow no more than to so many bytes while this lives, as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
};

}  // namespace

TEST_CASE("rows that a full disk refuses wait, and each is written once when there is room", "[step-log]") {
  const TempFolder folder;
  const auto file = folder / "metrics.csv";
  StepLog log(file, "step,loss", 0);
  CHECK(log.append("1,0.5"));
  {
    const FileSizeLimit full(18);  // in the middle of the second row
    CHECK_FALSE(log.append("2,0.25"));
    CHECK_FALSE(log.append("3,0.125"));
    CHECK_THROWS_WITH(log.sync(), Catch::Contains("metrics.csv: File too large"));
    CHECK(read_text(file) == "step,loss\n1,0.5\n2,");
  }
  SECTION("with the next row") {
    CHECK(log.append("4,0.0625"));
    CHECK(read_text(file) == "step,loss\n1,0.5\n2,0.25\n3,0.125\n4,0.0625\n");
  }
  SECTION("before a checkpoint") {
    log.sync();
    CHECK(read_text(file) == "step,loss\n1,0.5\n2,0.25\n3,0.125\n");
  }
}

TEST_CASE("a file with another header is not touched", "[step-log]") {
  const TempFolder folder;
  write_atomically(folder / "m.csv", "something else\n1,2\n");
  REQUIRE_THROWS_WITH(StepLog(folder / "m.csv", "step,loss", 5), Catch::Contains("something else"));
  CHECK(read_text(folder / "m.csv") == "something else\n1,2\n");
}
