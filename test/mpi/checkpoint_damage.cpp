// No damage to a checkpoint goes unnoticed, and what is old goes away without the last good one.
#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "checkpoint/file.h"
#include "checkpoint/save.h"
#include "checkpoint_fixture.h"
#include "core/error.h"
#include "ranks.h"
#include "shared_folder.h"

using namespace lockstep;
using namespace lockstep::checkpoint;
using comm::MpiGroup;

namespace {

std::filesystem::path save_small(MpiGroup& comm, const std::filesystem::path& folder, std::int64_t step) {
  std::vector<float> weight = {1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<float> bias = {9};
  State state;
  state.step = step;
  state.values["seed"] = std::int64_t{1};
  state.values["config"] = std::string(1100, '#');
  const std::vector<TensorView> views = {{"model/w", {4, 2}, weight.data()}, {"model/b", {1}, bias.data()}};
  return save(comm, folder, state, views, {{"1", 0}, [] {}, 16}).path;
}

void touch(const std::filesystem::path& path) {
  std::ofstream file(path);
}

}  // namespace

TEST_CASE("a flip of any byte of the file is found", "[checkpoint]") {
  MpiGroup comm(MPI_COMM_WORLD);
  const SharedFolder folder(comm);
  const auto original = save_small(comm, folder.path(), 1);
  const auto mine = folder.path() / ("copy" + std::to_string(comm.rank()));
  std::filesystem::copy_file(original, mine);
  CHECK(verify(mine).faults.empty());
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(mine));
  CHECK(size < 16384);
  const FileDescriptor file = lockstep::open_file(mine, O_RDWR, 0, ExitCode::internal);
  std::int64_t missed = 0;
  for (std::int64_t offset = comm.rank(); offset < size; offset += comm.size()) {
    char byte = 0;
    REQUIRE(::pread(file.get(), &byte, 1, offset) == 1);
    const char flipped = static_cast<char>(byte ^ (1 << (offset % 8)));
    REQUIRE(::pwrite(file.get(), &flipped, 1, offset) == 1);
    bool found = false;
    try {
      found = !verify(mine).faults.empty();
    } catch (const Error&) {
      found = true;
    }
    if (!found) ++missed;
    REQUIRE(::pwrite(file.get(), &byte, 1, offset) == 1);
  }
  CHECK(missed == 0);
  CHECK(verify(mine).faults.empty());
}

TEST_CASE("a file of any other length is found", "[checkpoint]") {
  MpiGroup comm(MPI_COMM_WORLD);
  const SharedFolder folder(comm);
  const auto path = save_small(comm, folder.path(), 1);
  if (comm.rank() != 0) return;
  const auto size = std::filesystem::file_size(path);
  for (const auto length : {size + 1, size - 1, size / 2, std::uintmax_t{512}, std::uintmax_t{511},
                            std::uintmax_t{1}, std::uintmax_t{0}}) {
    std::filesystem::resize_file(path, length);
    INFO("length " << length);
    CHECK(verify(path).faults.size() == 1);
  }
}

TEST_CASE("an intact seal of a newer format is told from damage", "[checkpoint]") {
  MpiGroup comm(MPI_COMM_WORLD);
  const SharedFolder folder(comm);
  const auto path = save_small(comm, folder.path(), 1);
  if (comm.rank() != 0) return;
  CHECK_THROWS_AS(describe(folder.path() / "absent.h5"), Error);
  std::string seal = render(describe(path).seal);
  CHECK(parse_seal(seal) == describe(path).seal);
  seal[seal.find("format 1") + 7] = '2';
  try {
    parse_seal(seal);
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::bad_data);  // the hash says that it was not written so
  }
}

TEST_CASE("retention keeps the newest intact ones", "[checkpoint]") {
  MpiGroup comm(MPI_COMM_WORLD);
  const SharedFolder folder(comm);
  for (const std::int64_t step : {10, 20, 30, 40, 50}) save_small(comm, folder.path(), step);
  if (comm.rank() != 0) return;
  std::filesystem::resize_file(folder.path() / file_name(30), 1000);
  int asked = 0;
  const Fence fence = [&] { ++asked; };

  CHECK_THROWS_AS(retire(folder.path(), 0, 40, fence), Error);
  // 50 is newer than the one just saved (another branch): not ours to remove. 30 is damaged: kept, not
  // counted.
  const Retired retired = retire(folder.path(), 2, 40, fence);
  CHECK(retired.removed == std::vector{folder.path() / file_name(10)});
  CHECK(retired.damaged == std::vector{folder.path() / file_name(30)});
  CHECK(asked == 1);
  CHECK(list(folder.path()).size() == 4);
  CHECK(retire(folder.path(), 5, 40, fence).removed.empty());

  CHECK_THROWS_AS(retire(folder.path(), 1, 40, [] { throw Error(ExitCode::cannot_create, "fenced"); }),
                  Error);
  CHECK(std::filesystem::exists(folder.path() / file_name(20)));
  retire(folder.path(), 1, 40, fence);
  CHECK(list(folder.path()).size() == 3);  // 50, 40 and the damaged 30
}

TEST_CASE("protected checkpoints are kept and not counted; a link points to the best one", "[checkpoint]") {
  MpiGroup comm(MPI_COMM_WORLD);
  const SharedFolder folder(comm);
  for (const std::int64_t step : {10, 20, 30, 40}) save_small(comm, folder.path(), step);
  if (comm.rank() != 0) return;
  int asked = 0;
  const Fence fence = [&] { ++asked; };
  const std::vector<std::int64_t> needed = {-1, 20, 7};
  retire(folder.path(), 2, 40, fence, needed);
  const auto left = list(folder.path());
  REQUIRE(left.size() == 3);
  CHECK(left[1].step == 30);
  CHECK(left[2].step == 20);

  const auto link = folder.path() / "best.h5";
  link_best(folder.path(), 10, fence);  // not there any more
  CHECK_FALSE(std::filesystem::is_symlink(link));
  std::filesystem::create_symlink("nowhere", folder.path() / ".best.h5.tmp");  // of a save that was cut off
  link_best(folder.path(), 20, fence);
  CHECK(std::filesystem::read_symlink(link) == file_name(20));
  CHECK(describe(link).state.step == 20);
  link_best(folder.path(), 40, fence);
  CHECK(std::filesystem::read_symlink(link) == file_name(40));
  asked = 0;
  link_best(folder.path(), 40, fence);
  CHECK(asked == 0);
  CHECK(list(folder.path()).size() == 3);  // the link is no checkpoint of its own
  CHECK_THROWS_AS(link_best(folder.path(), 30, [] { throw Error(ExitCode::cannot_create, "fenced"); }),
                  Error);
  CHECK(std::filesystem::read_symlink(link) == file_name(40));
  // A predecessor that passed the fence, and whose successor has begun before it goes on.
  CHECK_THROWS_AS(link_best(folder.path(), 30,
                            [&] {
                              remove_stale_temporaries(folder.path(), {"2", 0}, fence);
                            }),
                  Error);
  CHECK(std::filesystem::read_symlink(link) == file_name(40));

  // Where nobody knows a best one any more, the link does not dangle.
  link_best(folder.path(), 20, fence);
  link_best(folder.path(), -1, fence);
  retire(folder.path(), 1, 40, fence);
  CHECK(list(folder.path()).size() == 2);
  CHECK(describe(link).state.step == 20);
  link_best(folder.path(), 40, fence);
  retire(folder.path(), 1, 40, fence);
  CHECK(list(folder.path()).size() == 1);
}

TEST_CASE("temporaries of ended attempts are removed, others kept", "[checkpoint]") {
  MpiGroup comm(MPI_COMM_WORLD);
  const SharedFolder folder(comm);
  if (comm.rank() != 0) return;
  const auto path = [&](const std::string& job, std::int64_t restart) {
    return folder.path() / temporary_name(7, {job, restart});
  };
  for (const auto& stale : {path("17", 0), path("17", 1), path("9", 5), path("17.3", 4)}) touch(stale);
  touch(path("17", 2));
  touch(folder.path() / ".best.h5.tmp");
  touch(folder.path() / ".step-notes.txt");
  touch(folder.path() / "metrics.csv");
  const auto removed = remove_stale_temporaries(folder.path(), {"17", 1}, [] {});
  CHECK(removed.size() == 4);
  CHECK_FALSE(std::filesystem::exists(folder.path() / ".best.h5.tmp"));
  CHECK(std::filesystem::exists(path("17", 2)));
  CHECK(std::filesystem::exists(folder.path() / ".step-notes.txt"));
  CHECK(std::filesystem::exists(folder.path() / "metrics.csv"));
  CHECK(remove_stale_temporaries(folder.path() / "absent", {"17", 1}, [] {}).empty());
}
