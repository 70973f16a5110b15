// A library for LD_PRELOAD that lets a named call fail at a chosen moment, to test what must survive it.
//
//   LOCKSTEP_FAULT=FUNCTION:COUNT:RANK:ACTION
//     FUNCTION  H5Dwrite, H5Fflush, H5Fclose, pwrite, pwritev, fsync, rename, MPI_Allreduce
//     COUNT     the first call struck, counted from 1 in each process
//     RANK      the rank struck, or "all" (PMIX_RANK, SLURM_PROCID or OMPI_COMM_WORLD_RANK; 0 without them)
//     ACTION    kill   SIGKILL to the process itself, before the call
//               stall  never returns
//               term   SIGTERM to the process itself at this one call, which is then made: a stop request at
//               a
//                      chosen place
//               fail   POSIX calls return -1 with ENOSPC without being made, from this call on; HDF5 calls
//               are
//                      made, because the peers are in them too, and then report failure
//               eio    the same with EIO
//   LOCKSTEP_FAULT_MARKER=FILE  is created before the fault strikes, with the rank's number appended, so that
//                               a test can prove that it did.
//   LOCKSTEP_FAULT_PATH=TEXT    fsync, rename, pwrite, pwritev count and fail only for files with TEXT in
//                               their path (default: every file)
//
// Example: LOCKSTEP_FAULT=H5Dwrite:3:1:kill LD_PRELOAD=build/test/libfault.so
#include <dlfcn.h>
#include <fcntl.h>
#include <hdf5.h>
#include <mpi.h>
#include <signal.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace {

struct Plan {
  std::string function;
  long count = 0;
  std::string rank;
  std::string action;
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

// Parsed at each call: the environment does not change, and a library that is loaded into every program keeps
// no state that could be destroyed before its last use.
Plan plan() {
  Plan result;
  std::string text = environment("LOCKSTEP_FAULT");
  std::string* const fields[] = {&result.function, nullptr, &result.rank, &result.action};
  for (std::string* field : fields) {
    const auto end = text.find(':');
    const std::string part = text.substr(0, end);
    if (field == nullptr) {
      result.count = std::strtol(part.c_str(), nullptr, 10);
    } else {
      *field = part;
    }
    text = end == std::string::npos ? "" : text.substr(end + 1);
  }
  return result;
}

void mark() {
  const std::string marker = environment("LOCKSTEP_FAULT_MARKER");
  if (marker.empty()) return;
  const int fd = ::open((marker + own_rank()).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd >= 0) ::close(fd);
}

// True if this call is to fail; does not return from kill and stall.
bool strikes(std::string_view function, std::atomic<long>& calls) {
  const Plan fault = plan();
  if (fault.function != function || (fault.rank != "all" && fault.rank != own_rank())) return false;
  const long call = ++calls;
  if (call < fault.count) return false;
  if (call == fault.count) mark();
  if (fault.action == "kill") ::kill(::getpid(), SIGKILL);
  if (fault.action == "term") {
    if (call == fault.count) ::kill(::getpid(), SIGTERM);
    return false;
  }
  while (fault.action == "stall") ::pause();
  errno = fault.action == "eio" ? EIO : ENOSPC;
  return true;
}

bool path_matches(std::string_view path) {
  const std::string wanted = environment("LOCKSTEP_FAULT_PATH");
  return wanted.empty() || path.find(wanted) != std::string_view::npos;
}

bool file_matches(int fd) {
  char path[4096];
  const ssize_t length = ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), path, sizeof path);
  return length > 0 && path_matches({path, static_cast<std::size_t>(length)});
}

template <typename F>
F* next(const char* name) {
  return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}

std::atomic<long> write_calls, flush_calls, close_calls, pwrite_calls, pwritev_calls, fsync_calls,
    rename_calls, allreduce_calls;

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

ssize_t pwrite(int fd, const void* data, size_t count, off_t offset) {
  if (file_matches(fd) && strikes("pwrite", pwrite_calls)) return -1;
  return next<decltype(pwrite)>("pwrite")(fd, data, count, offset);
}

ssize_t pwrite64(int fd, const void* data, size_t count, off64_t offset) {
  return pwrite(fd, data, count, offset);
}

ssize_t pwritev(int fd, const iovec* parts, int count, off_t offset) {
  if (file_matches(fd) && strikes("pwritev", pwritev_calls)) return -1;
  return next<decltype(pwritev)>("pwritev")(fd, parts, count, offset);
}

ssize_t pwritev64(int fd, const iovec* parts, int count, off64_t offset) {
  return pwritev(fd, parts, count, offset);
}

int MPI_Allreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  // Only a signal can be sent here: a collective that is not made would be an error of ours.
  (void)strikes("MPI_Allreduce", allreduce_calls);
  return next<decltype(MPI_Allreduce)>("MPI_Allreduce")(send, receive, count, type, op, comm);
}

int fsync(int fd) {
  if (file_matches(fd) && strikes("fsync", fsync_calls)) return -1;
  return next<decltype(fsync)>("fsync")(fd);
}

int rename(const char* from, const char* to) noexcept {
  if (path_matches(from) && strikes("rename", rename_calls)) return -1;
  return next<decltype(rename)>("rename")(from, to);
}

}  // extern "C"
