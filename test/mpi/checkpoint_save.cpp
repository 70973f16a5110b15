#include "checkpoint/save.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <numeric>

#include "checkpoint/load.h"
#include "checkpoint_fixture.h"
#include "core/files.h"
#include "ranks.h"
#include "shared_folder.h"

using namespace lockstep;
using namespace lockstep::checkpoint;
using comm::MpiGroup;

namespace {

const Attempt attempt{"17", 0};

SaveReport save_test(MpiGroup& comm, const std::filesystem::path& folder, std::int64_t step,
                     std::int64_t slab_bytes = 1000) {
  Tensors tensors = test_tensors(static_cast<std::uint64_t>(step));
  return save(comm, folder, test_state(step), tensors.views(), {attempt, [] {}, slab_bytes});
}

Warn collect(std::vector<std::string>& texts) {
  return [&texts](const std::string& text) { texts.push_back(text); };
}

void check_loads(MpiGroup& comm, const std::filesystem::path& folder, std::int64_t step) {
  std::vector<std::string> warnings;
  const auto loaded = open_newest(comm, folder, collect(warnings));
  REQUIRE(loaded);
  CHECK(warnings.empty());
  CHECK(loaded->state() == test_state(step));
  const Tensors wanted = test_tensors(static_cast<std::uint64_t>(step));
  CHECK(loaded->tensors() == wanted.infos);
  Tensors read = test_tensors(0);
  auto views = read.views();
  std::reverse(views.begin(), views.end());  // a model whose code was reordered
  loaded->read(comm, views);
  CHECK(read.values == wanted.values);
}

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

void flip_byte(const std::filesystem::path& path, std::int64_t offset) {
  const FileDescriptor file = lockstep::open_file(path, O_RDWR, 0, ExitCode::internal);
  char byte = 0;
  REQUIRE(::pread(file.get(), &byte, 1, offset) == 1);
  byte = static_cast<char>(byte ^ 0x10);
  REQUIRE(::pwrite(file.get(), &byte, 1, offset) == 1);
}

std::string error_text(const std::function<void()>& work, ExitCode code) {
  try {
    work();
  } catch (const Error& error) {
    CHECK(error.code() == code);
    return error.what();
  }
  FAIL("no error");
  return {};
}

}  // namespace

TEST_CASE("a checkpoint of any number of ranks loads on any other", "[checkpoint]") {
  MpiGroup world(MPI_COMM_WORLD);
  for (int writers = 1; writers <= world.size(); ++writers) {
    const SharedFolder folder(world);
    if (auto comm = first_ranks(writers)) {
      const SaveReport report = save_test(*comm, folder.path(), 1200);
      CHECK(report.path.filename() == "step-00001200.h5");
      CHECK(report.file_bytes == static_cast<std::int64_t>(std::filesystem::file_size(report.path)));
      CHECK(names_in(folder.path()) == std::vector<std::string>{"step-00001200.h5"});
    }
    world.barrier();
    for (int readers = 1; readers <= world.size(); ++readers) {
      INFO("written by " << writers << ", read by " << readers);
      if (auto comm = first_ranks(readers)) check_loads(*comm, folder.path(), 1200);
      world.barrier();
    }
  }
}

TEST_CASE("every rank writes its share, and every transfer stays collective", "[checkpoint]") {
  MpiGroup comm(MPI_COMM_WORLD);
  const SharedFolder folder(comm);
  const SaveReport report = save_test(comm, folder.path(), 3);
  const Tensors tensors = test_tensors(3);
  std::int64_t total = 0;
  for (const auto& values : tensors.values) total += static_cast<std::int64_t>(values.size() * sizeof(float));
  CHECK(std::accumulate(report.bytes_by_rank.begin(), report.bytes_by_rank.end(), std::int64_t{0}) == total);
  const std::int64_t row = 37 * sizeof(float);
  for (const std::int64_t bytes : report.bytes_by_rank) {
    CHECK(std::abs(bytes - total / comm.size()) <= 3 * row);  // even, up to rows that cannot be cut
  }

  // The table of slabs tells the same story, and covers each tensor's rows once.
  const Description file = describe(report.path);
  CHECK(file.writers() == comm.size());
  std::vector<std::int64_t> by_writer(static_cast<std::size_t>(comm.size()));
  std::vector<std::int64_t> next_row(file.tensors.size());
  std::int64_t rounds = 0;
  for (const SlabRecord& slab : file.slabs) {
    by_writer[static_cast<std::size_t>(slab.writer)] += slab.bytes;
    auto& next = next_row[static_cast<std::size_t>(slab.tensor)];
    CHECK(slab.first_row == next);
    CHECK((slab.bytes <= 1000 || slab.rows == 1));
    next += slab.rows;
    if (slab.writer == 0) ++rounds;
  }
  CHECK(by_writer == report.bytes_by_rank);
  // CollectiveFile counts a transfer once it has asserted it; several rounds per tensor, state and table
  // beside.
  CHECK(report.transfers > rounds);
  CHECK(rounds > static_cast<std::int64_t>(file.tensors.size()));
}

TEST_CASE("one large slab per rank works as well as many small ones", "[checkpoint]") {
  MpiGroup comm(MPI_COMM_WORLD);
  for (const std::int64_t slab_bytes : {std::int64_t{1}, std::int64_t{333}, default_slab_bytes}) {
    const SharedFolder folder(comm);
    save_test(comm, folder.path(), 7, slab_bytes);
    check_loads(comm, folder.path(), 7);
  }
}

TEST_CASE("a checkpoint without tensors or values is legal", "[checkpoint]") {
  MpiGroup comm(MPI_COMM_WORLD);
  const SharedFolder folder(comm);
  save(comm, folder.path(), State{}, {}, {attempt, [] {}, 100});
  std::vector<std::string> warnings;
  const auto loaded = open_newest(comm, folder.path(), collect(warnings));
  REQUIRE(loaded);
  CHECK(loaded->state() == State{});
  loaded->read(comm, {});
}

TEST_CASE("the newest damaged checkpoint is named, kept, and the older one used", "[checkpoint]") {
  MpiGroup comm(MPI_COMM_WORLD);
  const SharedFolder folder(comm);
  save_test(comm, folder.path(), 10);
  const SaveReport newest = save_test(comm, folder.path(), 20);
  const Description file = describe(newest.path);
  const SlabRecord last_slab = file.slabs.back();
  struct Case {
    const char* what;
    std::int64_t offset;
    const char* named;
  };
  const Case cases[] = {
      {"data", last_slab.offset + last_slab.bytes - 1, "optimizer/momentum/model.large rows"},
      {"seal", 40, "seal"},
      {"table", file.seal.table_offset + 16, "damaged outside the tensors"},
      {"superblock", 515, "damaged outside the tensors"},
  };
  for (const Case& one : cases) {
    INFO(one.what);
    if (comm.rank() == 0) flip_byte(newest.path, one.offset);
    comm.barrier();
    std::vector<std::string> warnings;
    const auto loaded = open_newest(comm, folder.path(), collect(warnings));
    REQUIRE(loaded);
    CHECK(loaded->state().step == 10);
    CHECK(warnings.size() == (comm.rank() == 0 ? 1 : 0));
    for (const std::string& text : warnings) {
      CHECK_THAT(text, Catch::Contains("step-00000020.h5") && Catch::Contains(one.named));
    }
    CHECK_THAT(error_text([&] { open_named(comm, newest.path); }, ExitCode::bad_data),
               Catch::Contains(one.named));
    comm.barrier();
    if (comm.rank() == 0) flip_byte(newest.path, one.offset);
    comm.barrier();
  }
  check_loads(comm, folder.path(), 20);

  if (comm.rank() == 0) ::truncate(newest.path.c_str(), static_cast<off_t>(newest.file_bytes - 1));
  comm.barrier();
  std::vector<std::string> warnings;
  CHECK(open_newest(comm, folder.path(), collect(warnings))->state().step == 10);
  comm.barrier();
  if (comm.rank() == 0) std::filesystem::resize_file(folder.path() / "step-00000010.h5", 0);
  comm.barrier();
  warnings.clear();
  CHECK_FALSE(open_newest(comm, folder.path(), collect(warnings)));
  CHECK(warnings.size() == (comm.rank() == 0 ? 2 : 0));
  CHECK_FALSE(open_newest(comm, folder.path() / "absent", collect(warnings)));
}

TEST_CASE("other tensors than the run's are refused, naming the first difference", "[checkpoint]") {
  MpiGroup comm(MPI_COMM_WORLD);
  const SharedFolder folder(comm);
  save_test(comm, folder.path(), 1);
  std::vector<std::string> warnings;
  const auto loaded = open_newest(comm, folder.path(), collect(warnings));
  REQUIRE(loaded);
  Tensors tensors = test_tensors(1);
  const auto refusal = [&](const std::vector<TensorView>& views) {
    return error_text([&] { loaded->read(comm, views); }, ExitCode::bad_config);
  };
  auto views = tensors.views();
  views[2].shape = {37, 101};
  CHECK_THAT(refusal(views), Catch::Contains("model/large has shape [101, 37] there and [37, 101]"));
  views = tensors.views();
  views.erase(views.begin());
  CHECK_THAT(refusal(views), Catch::Contains("holds tensor model/conv1.weight [8, 1, 3, 3]"));
  views = tensors.views();
  views.push_back({"model/new", {2}, tensors.values[0].data()});
  CHECK_THAT(refusal(views), Catch::Contains("lacks tensor model/new [2]"));
}

TEST_CASE("a failed save leaves the folder as it was and throws the same everywhere", "[checkpoint]") {
  MpiGroup comm(MPI_COMM_WORLD);
  const SharedFolder folder(comm);
  save_test(comm, folder.path(), 1);
  Tensors tensors = test_tensors(2);
  const auto failure = [&](const SaveOptions& options, ExitCode code) {
    const std::string text =
        error_text([&] { save(comm, folder.path(), test_state(2), tensors.views(), options); }, code);
    for (const std::string& other : comm::gather_texts(comm, text)) CHECK(other == text);
    CHECK(names_in(folder.path()) == std::vector<std::string>{"step-00000001.h5"});
    return text;
  };
  const Fence fenced = [] { throw Error(ExitCode::cannot_create, "the run folder belongs to job 18"); };
  CHECK_THAT(failure({attempt, fenced, 1000}, ExitCode::cannot_create),
             Catch::Contains("rank 0 on " + comm.host(0)) && Catch::Contains("belongs to job 18"));
  // A rank whose model differs would make the collective calls diverge.
  if (comm.size() > 1) {
    if (comm.rank() == 1) tensors.infos[0].shape = {1, 8, 3, 3};
    CHECK_THAT(failure({attempt, [] {}, 1000}, ExitCode::internal), Catch::Contains("different tensors"));
  }
  tensors = test_tensors(2);
  tensors.infos[1].name = "meta/step";
  CHECK_THAT(failure({attempt, [] {}, 1000}, ExitCode::bad_config), Catch::Contains("meta/step"));
  check_loads(comm, folder.path(), 1);

  const auto absent = [&] {
    save(comm, folder.path() / "absent", test_state(2), test_tensors(2).views(), {attempt, [] {}, 1000});
  };
  CHECK_THAT(error_text(absent, ExitCode::cannot_create), Catch::Contains("No such file"));
}

TEST_CASE("saving a step again replaces its file", "[checkpoint]") {
  MpiGroup comm(MPI_COMM_WORLD);
  const SharedFolder folder(comm);
  const SaveReport first = save_test(comm, folder.path(), 5);
  if (comm.rank() == 0) flip_byte(first.path, 700);
  comm.barrier();
  save_test(comm, folder.path(), 5);
  check_loads(comm, folder.path(), 5);
}
