// A library for LD_PRELOAD that lets a named call fail at a chosen moment, to test what must survive it.
//
//   LOCKSTEP_FAULT=FUNCTION:COUNT:RANK:ACTION[:PATH]
//     FUNCTION  H5Dwrite, H5Fflush, H5Fclose, pread, pwrite, pwritev, fsync, rename, MPI_Allreduce,
//               MPI_collective (MPI_Allreduce and MPI_Allgather, of which each step has one),
//               PMIx_Fence_nb (the answer to it, of which MPI_Init awaits two),
//               dnnl_sgemm (a product of a linear layer)
//     COUNT     the first call struck, counted from 1 in each process
//     RANK      the rank struck, or "all" (PMIX_RANK, SLURM_PROCID or OMPI_COMM_WORLD_RANK; 0 without them)
//     ACTION    kill   SIGKILL to the process itself, before the call
//               stop   SIGSTOP to the process itself, before the call
//               stall  never returns
//               hold   returns, and then makes the call, when the fault is taken away from its FILE
//               term   SIGTERM to the process itself at this one call, which is then made: a stop request at
//                      a chosen place
//               slow=N this one call takes N milliseconds longer
//               slower=N   from this one on, each call takes N milliseconds longer
//               memory takes all memory that the process may have, whose limit becomes what it has; the call
//                      is then made
//               fail   POSIX calls return -1 with ENOSPC without being made, from this call on; HDF5 calls
//                      are made, because the peers are in them too, and then report failure
//               eio    the same with EIO
//               quota  the same with EDQUOT
//     PATH      pread, fsync, rename, pwrite, pwritev count and fail only for files with this text in their
//               path (default: LOCKSTEP_FAULT_PATH; without it every file)
//   LOCKSTEP_FAULT=@FILE        the fault is what the file says, which may come, change and go while the
//                               program runs: COUNT counts from its coming.
//   LOCKSTEP_FAULT_MARKER=FILE  is created before the fault strikes, with the rank's number appended, so that
//                               a test can prove that it did; a SIGTERM that comes during `hold` makes
//                               another, with ".term" after the number.
//   LOCKSTEP_FAULT_PACE=N       each step takes N milliseconds longer: many runs at once on a small machine
//                               leave time to each other.
//
// Example: LOCKSTEP_FAULT=H5Dwrite:3:1:kill LD_PRELOAD=build/test/libfault.so
#include <dlfcn.h>
#include <fcntl.h>
#include <hdf5.h>
#include <mpi.h>
#include <oneapi/dnnl/dnnl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>

namespace {

struct Plan {
  std::string text;
  std::string function;
  long count = 0;
  std::string rank;
  std::string action;
  std::string path;
};

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string own_rank() {
  for (const char* name : {"PMIX_RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK"}) {
    const std::string rank = environment(name);
    if (!rank.empty()) return rank;
  }
  return "0";
}

// Parsed at each call: a library that is loaded into every program keeps no state that could be destroyed
// before its last use.
Plan plan() {
  Plan result;
  std::string text = environment("LOCKSTEP_FAULT");
  if (text.starts_with('@')) {
    std::ifstream file(text.substr(1));
    text.assign(std::istreambuf_iterator<char>(file), {});
    while (text.ends_with('\n')) text.pop_back();
  }
  result.text = text;
  std::string count;
  std::string* const fields[] = {&result.function, &count, &result.rank, &result.action, &result.path};
  for (std::string* field : fields) {
    const auto end = text.find(':');
    *field = text.substr(0, end);
    text = end == std::string::npos ? "" : text.substr(end + 1);
  }
  result.count = std::strtol(count.c_str(), nullptr, 10);
  if (result.path.empty()) result.path = environment("LOCKSTEP_FAULT_PATH");
  return result;
}

void create(const char* file) {
  const int fd = ::open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd >= 0) ::close(fd);
}

std::string marker(std::string_view suffix = "") {
  const std::string base = environment("LOCKSTEP_FAULT_MARKER");
  return base.empty() ? base : base + own_rank() + std::string(suffix);
}

// What a handler of signals can reach: plain static storage.
struct sigaction handler_before;
char term_marker[4096];

void note_term(int number) {
  const int saved = errno;
  create(term_marker);
  errno = saved;
  if (handler_before.sa_handler != SIG_DFL && handler_before.sa_handler != SIG_IGN) {
    handler_before.sa_handler(number);
  }
}

void hold(const std::string& text) {
  const std::string file = marker(".term");
  file.copy(term_marker, sizeof term_marker - 1);
  ::sigaction(SIGTERM, nullptr, &handler_before);
  struct sigaction noting = handler_before;
  noting.sa_handler = note_term;
  ::sigaction(SIGTERM, &noting, nullptr);
  create(marker().c_str());  // from here on a signal is seen
  constexpr useconds_t look_up = 20'000;
  while (plan().text == text) ::usleep(look_up);
  ::sigaction(SIGTERM, &handler_before, nullptr);
}

// From here on every allocation that needs a byte more than is free somewhere fails, as on a node whose
// memory is used up.
void take_all_memory() {
  long pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const auto now = static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE));
  const rlimit limit{now, now};
  ::setrlimit(RLIMIT_AS, &limit);
  constexpr std::size_t large = std::size_t{1} << 24;
  constexpr std::size_t small = 2048;
  void* volatile block = nullptr;
  const auto take = [&](std::size_t size) {
    do block = std::malloc(size);
    while (block != nullptr);
  };
  for (std::size_t size = large; size > small; size /= 2) take(size);
  for (std::size_t size = small; size > 0; size -= 16) take(size);
}

struct Counter {
  std::atomic<std::size_t> plan;  // the fault for which it counts
  std::atomic<long> calls;
};

// True if this call is to fail; does not return from kill and stall.
bool strikes(const Plan& fault, std::string_view function, Counter& counter) {
  if (fault.function != function || (fault.rank != "all" && fault.rank != own_rank())) return false;
  const std::size_t name = std::hash<std::string>{}(fault.text);
  if (counter.plan.exchange(name) != name) counter.calls = 0;
  const long call = ++counter.calls;
  if (call < fault.count) return false;
  const bool first = call == fault.count;
  if (first && fault.action != "hold") create(marker().c_str());
  if (fault.action == "kill") ::kill(::getpid(), SIGKILL);
  if (fault.action == "stop") ::kill(::getpid(), SIGSTOP);
  constexpr std::string_view slow = "slow=";
  constexpr std::string_view slower = "slower=";
  if (fault.action.starts_with(slower)) {
    ::usleep(static_cast<useconds_t>(1000 * std::strtol(&fault.action[slower.size()], nullptr, 10)));
    return false;
  }
  if (fault.action.starts_with(slow)) {
    if (first) ::usleep(static_cast<useconds_t>(1000 * std::strtol(&fault.action[slow.size()], nullptr, 10)));
    return false;
  }
  if (fault.action == "term" || fault.action == "hold" || fault.action == "memory") {
    if (first && fault.action == "term") ::kill(::getpid(), SIGTERM);
    if (first && fault.action == "hold") hold(fault.text);
    if (first && fault.action == "memory") take_all_memory();
    return false;
  }
  while (fault.action == "stall") ::pause();
  errno = fault.action == "eio" ? EIO : fault.action == "quota" ? EDQUOT : ENOSPC;
  return true;
}

bool strikes(std::string_view function, Counter& counter) {
  return strikes(plan(), function, counter);
}

std::string path_of(int fd) {
  char path[4096];
  const ssize_t length = ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), path, sizeof path);
  return {path, static_cast<std::size_t>(std::max<ssize_t>(0, length))};
}

bool strikes_path(std::string_view function, Counter& counter, std::string_view path) {
  const Plan fault = plan();
  return fault.function == function && path.find(fault.path) != std::string_view::npos &&
         strikes(fault, function, counter);
}

bool strikes_file(std::string_view function, Counter& counter, int fd) {
  const Plan fault = plan();
  return fault.function == function && path_of(fd).find(fault.path) != std::string::npos &&
         strikes(fault, function, counter);
}

void pace() {
  const std::string text = environment("LOCKSTEP_FAULT_PACE");
  if (!text.empty()) ::usleep(static_cast<useconds_t>(1000 * std::strtol(text.c_str(), nullptr, 10)));
}

template <typename F>
F* next(const char* name) {
  return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}

Counter write_calls, flush_calls, close_calls, pread_calls, pwrite_calls, pwritev_calls, fsync_calls,
    rename_calls, allreduce_calls, collective_calls, fence_calls, sgemm_calls;

// Only a signal can be sent here: a collective that is not made would be an error of ours.
void meet() {
  (void)strikes("MPI_collective", collective_calls);
  pace();
}

// PMIx's own types are not needed to pass a call on.
using FenceDone = void (*)(int status, void* data);
using FenceCall = int(const void* procs, size_t proc_count, const void* info, size_t info_count,
                      FenceDone done, void* data);

struct Fence {
  FenceDone done;
  void* data;
};

// On a thread of its own, so that PMIx, which calls this, goes on with all else meanwhile.
void fence_done(int status, void* data) {
  const Fence fence = *static_cast<Fence*>(data);
  delete static_cast<Fence*>(data);
  if (plan().function != "PMIx_Fence_nb") return fence.done(status, fence.data);
  std::thread([fence, status] {
    (void)strikes("PMIx_Fence_nb", fence_calls);
    fence.done(status, fence.data);
  }).detach();
}

}  // namespace

extern "C" {

herr_t H5Dwrite(hid_t dataset, hid_t type, hid_t memory, hid_t file, hid_t transfer, const void* data) {
  const bool fail = strikes("H5Dwrite", write_calls);
  const herr_t status = next<decltype(H5Dwrite)>("H5Dwrite")(dataset, type, memory, file, transfer, data);
  return fail ? -1 : status;
}

herr_t H5Fflush(hid_t object, H5F_scope_t scope) {
  const bool fail = strikes("H5Fflush", flush_calls);
  const herr_t status = next<decltype(H5Fflush)>("H5Fflush")(object, scope);
  return fail ? -1 : status;
}

herr_t H5Fclose(hid_t file) {
  const bool fail = strikes("H5Fclose", close_calls);
  const herr_t status = next<decltype(H5Fclose)>("H5Fclose")(file);
  return fail ? -1 : status;
}

ssize_t pread(int fd, void* data, size_t count, off_t offset) {
  if (strikes_file("pread", pread_calls, fd)) return -1;
  return next<decltype(pread)>("pread")(fd, data, count, offset);
}

ssize_t pread64(int fd, void* data, size_t count, off64_t offset) {
  return pread(fd, data, count, offset);
}

ssize_t pwrite(int fd, const void* data, size_t count, off_t offset) {
  if (strikes_file("pwrite", pwrite_calls, fd)) return -1;
  return next<decltype(pwrite)>("pwrite")(fd, data, count, offset);
}

ssize_t pwrite64(int fd, const void* data, size_t count, off64_t offset) {
  return pwrite(fd, data, count, offset);
}

ssize_t pwritev(int fd, const iovec* parts, int count, off_t offset) {
  if (strikes_file("pwritev", pwritev_calls, fd)) return -1;
  return next<decltype(pwritev)>("pwritev")(fd, parts, count, offset);
}

ssize_t pwritev64(int fd, const iovec* parts, int count, off64_t offset) {
  return pwritev(fd, parts, count, offset);
}

int MPI_Allgather(const void* send, int count, MPI_Datatype type, void* receive, int receive_count,
                  MPI_Datatype receive_type, MPI_Comm comm) {
  meet();
  return next<decltype(MPI_Allgather)>("MPI_Allgather")(send, count, type, receive, receive_count,
                                                        receive_type, comm);
}

// Open MPI loads the library when it needs it, after this one and for itself alone: it is not RTLD_NEXT's.
int PMIx_Fence_nb(const void* procs, size_t proc_count, const void* info, size_t info_count, FenceDone done,
                  void* data) {
  void* const library = ::dlopen("libpmix.so.2", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return -1;
  auto* const fence = new Fence{done, data};
  auto* const call = reinterpret_cast<FenceCall*>(::dlsym(library, "PMIx_Fence_nb"));
  const int status = call(procs, proc_count, info, info_count, fence_done, fence);
  if (status != 0) delete fence;
  return status;
}

int MPI_Allreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  (void)strikes("MPI_Allreduce", allreduce_calls);
  meet();
  return next<decltype(MPI_Allreduce)>("MPI_Allreduce")(send, receive, count, type, op, comm);
}

dnnl_status_t dnnl_sgemm(char transa, char transb, dnnl_dim_t m, dnnl_dim_t n, dnnl_dim_t k, float alpha,
                         const float* a, dnnl_dim_t lda, const float* b, dnnl_dim_t ldb, float beta, float* c,
                         dnnl_dim_t ldc) {
  (void)strikes("dnnl_sgemm", sgemm_calls);
  return next<decltype(dnnl_sgemm)>("dnnl_sgemm")(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c,
                                                  ldc);
}

int fsync(int fd) {
  if (strikes_file("fsync", fsync_calls, fd)) return -1;
  return next<decltype(fsync)>("fsync")(fd);
}

int rename(const char* from, const char* to) noexcept {
  if (strikes_path("rename", rename_calls, from)) return -1;
  return next<decltype(rename)>("rename")(from, to);
}

}  // extern "C"
