// Communicators from their beginning to their end.
#include "nccl_comm.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>

#include "call.h"
#include "stream.h"

namespace fake_gpu::nccl {

namespace {

struct Registry {
  std::mutex mutex;
  std::map<ncclComm_t, std::shared_ptr<ncclComm>> live;
};

Registry& registry() {
  static auto* const all = new Registry;  // the device's thread may outlast static objects
  return *all;
}

void remove(ncclComm_t comm) {
  const std::lock_guard guard(registry().mutex);
  registry().live.erase(comm);
}

std::shared_ptr<ncclComm> look_up(ncclComm_t comm, const char* call) {
  const std::lock_guard guard(registry().mutex);
  const auto found = registry().live.find(comm);
  if (found == registry().live.end()) {
    die(std::string(call) + ": the communicator was destroyed or aborted, or never made");
  }
  return found->second;
}

constexpr int polls_until_launched = 2;

ncclResult_t fail(ncclComm& comm, ncclResult_t code, const std::string& text) {
  comm.last_error = text;
  comm.error = code;
  return code;
}

// What happens between two polls.
ncclResult_t go_on(ncclComm& comm) {
  if (comm.error != ncclSuccess) return static_cast<ncclResult_t>(comm.error.load());
  if (comm.state == ncclComm::State::beginning) {
    if (comm.stalled || !comm.meeting->poll()) return ncclInProgress;
    comm.line = comm.meeting->line();
    comm.sent.resize(comm.line.world.size());
    comm.received.resize(comm.line.world.size());
    comm.state = ncclComm::State::ready;
    if (comm.meeting->shares_device()) {
      return fail(comm, ncclInvalidUsage, "Duplicate GPU detected: two ranks have one device");
    }
  }
  if (!comm.in_progress.empty()) {
    if (++comm.polls < polls_until_launched) return ncclInProgress;
    for (const auto& step : std::exchange(comm.in_progress, {})) {
      if (const ncclResult_t code = step(); code != ncclSuccess) return fail(comm, code, "cannot launch");
    }
  }
  if (comm.state == ncclComm::State::finalizing) {
    if (comm.queued > 0 || !comm.parting->poll()) return ncclInProgress;
    comm.state = ncclComm::State::finalized;
  }
  return ncclSuccess;
}

// What of the environment has reached the library.
void tell_variables(int rank) {
  std::string text = "fake NCCL: rank " + std::to_string(rank) + ":";
  for (const char* name : {"NCCL_SOCKET_IFNAME", "NCCL_RAS_ADDR"}) {
    const char* value = std::getenv(name);
    text += std::string(" ") + name + "=" + (value == nullptr ? "" : value);
  }
  std::fprintf(stderr, "%s\n", text.c_str());
}

}  // namespace

std::shared_ptr<ncclComm> find(ncclComm_t comm, const char* call) {
  need_no_open_group(call);
  return look_up(comm, call);
}

std::shared_ptr<ncclComm> find_ready(ncclComm_t comm, const char* call) {
  auto found = look_up(comm, call);
  if (found->state == ncclComm::State::beginning)
    die(std::string(call) + " before ncclCommInitRankConfig is done");
  if (found->state != ncclComm::State::ready) die(std::string(call) + " after ncclCommFinalize");
  if (!found->in_progress.empty()) die(std::string(call) + " while an earlier call returns ncclInProgress");
  int device = 0;
  cudaGetDevice(&device);
  if (device != found->device) die(std::string(call) + " with another device than the communicator's");
  return found;
}

ncclResult_t code_of(const std::string& name) {
  static const std::map<std::string, ncclResult_t> codes{{"ncclUnhandledCudaError", ncclUnhandledCudaError},
                                                         {"ncclSystemError", ncclSystemError},
                                                         {"ncclInternalError", ncclInternalError},
                                                         {"ncclInvalidArgument", ncclInvalidArgument},
                                                         {"ncclInvalidUsage", ncclInvalidUsage},
                                                         {"ncclRemoteError", ncclRemoteError}};
  const auto found = codes.find(name);
  if (found == codes.end()) die("FAKE_GPU_FAULT: no NCCL error is called " + name);
  return found->second;
}

Fault fault_of(const char* call) {
  Fault fault;
  std::string error;
  if (!fault_due(call, error)) return fault;
  const std::string later = "async-";
  if (error == "stall") {
    fault.stall = true;
  } else if (error.starts_with(later)) {
    fault.later = code_of(error.substr(later.size()));
  } else {
    fault.at_once = code_of(error);
  }
  return fault;
}

ncclResult_t launch(const std::shared_ptr<ncclComm>& comm, std::function<ncclResult_t()> launch) {
  if (comm->blocking || std::exchange(comm->used, true)) return launch();
  comm->in_progress.push_back(std::move(launch));
  return ncclInProgress;
}

}  // namespace fake_gpu::nccl

using namespace fake_gpu::nccl;
using fake_gpu::die;

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  const Fault fault = fault_of("ncclGetUniqueId");
  if (fault.at_once != ncclSuccess) return fault.at_once;
  *id = to_id(new_place());
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  need_no_open_group("ncclCommInitRankConfig");
  const ncclConfig_t plain = NCCL_CONFIG_INITIALIZER;
  if (config == nullptr || config->size != plain.size || config->magic != plain.magic ||
      config->version != plain.version) {
    die("ncclCommInitRankConfig: the configuration does not come from NCCL_CONFIG_INITIALIZER");
  }
  if (config->blocking != 0) die("ncclCommInitRankConfig: only blocking = 0 is on the list");
  if (size < 1 || rank < 0 || rank >= size) die("ncclCommInitRankConfig: a rank outside the communicator");
  if (const char* wanted = std::getenv("NCCL_DEBUG"); wanted != nullptr && std::string(wanted) == "INFO") {
    tell_variables(rank);
  }
  const Fault fault = fault_of("ncclCommInitRankConfig");
  if (fault.at_once != ncclSuccess) return fault.at_once;
  const auto made = std::make_shared<ncclComm>();
  made->blocking = false;
  cudaGetDevice(&made->device);
  made->stalled = fault.stall;
  if (!made->stalled) made->meeting = std::make_unique<Meeting>(from_id(id), rank, size);
  if (fault.later != ncclSuccess) fail(*made, fault.later, "injected at the beginning");
  const std::lock_guard guard(registry().mutex);
  registry().live.emplace(made.get(), made);
  *comm = made.get();
  return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  *error = go_on(*find(comm, "ncclCommGetAsyncError"));
  return ncclSuccess;
}

const char* ncclGetLastError(ncclComm_t comm) {
  return find(comm, "ncclGetLastError")->last_error.c_str();
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled CUDA error";
    case ncclSystemError:
      return "unhandled system error";
    case ncclInternalError:
      return "internal error";
    case ncclInvalidArgument:
      return "invalid argument";
    case ncclInvalidUsage:
      return "invalid usage";
    case ncclRemoteError:
      return "remote process exited or network error";
    case ncclInProgress:
      return "operation in progress";
    default:
      return "unknown result code";
  }
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  const auto found = find(comm, "ncclCommFinalize");
  if (found->state != ncclComm::State::ready || !found->in_progress.empty() || found->error != ncclSuccess) {
    die("ncclCommFinalize of a communicator that is not at rest");
  }
  found->parting = std::make_unique<Exchange>(found->line);
  const Call call = make_parting(found->collectives);
  for (int peer = 0; peer < found->line.size(); ++peer) {
    if (peer == found->line.rank) continue;
    found->parting->send(peer, call, nullptr, 0);
    found->parting->receive(peer, call, nullptr, 0);
  }
  found->state = ncclComm::State::finalizing;
  return ncclInProgress;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  const auto found = find(comm, "ncclCommDestroy");
  if (found->state != ncclComm::State::finalized) die("ncclCommDestroy before ncclCommFinalize is done");
  if (!found->registered.empty()) die("ncclCommDestroy while memory is still registered");
  remove(comm);
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  const auto found = find(comm, "ncclCommAbort");
  found->aborted = true;
  const std::lock_guard guard(found->working);
  remove(comm);
  return ncclSuccess;
}

ncclResult_t ncclCommRegister(const ncclComm_t comm, void* memory, std::size_t bytes, void** handle) {
  const auto found = find(comm, "ncclCommRegister");
  if (found->state != ncclComm::State::ready) die("ncclCommRegister with a communicator that is not ready");
  if (memory == nullptr || bytes == 0) return ncclInvalidArgument;
  const Fault fault = fault_of("ncclCommRegister");
  // As CUDA does for memory that cannot be shared between processes.
  if (fault.at_once == ncclUnhandledCudaError) fake_gpu::remember(cudaErrorInvalidValue);
  if (fault.at_once != ncclSuccess) return fault.at_once;
  found->registered.push_back(memory);
  *handle = memory;
  return ncclSuccess;
}

ncclResult_t ncclCommDeregister(const ncclComm_t comm, void* handle) {
  auto& registered = find(comm, "ncclCommDeregister")->registered;
  const auto place = std::find(registered.begin(), registered.end(), handle);
  if (place == registered.end()) die("ncclCommDeregister of memory that is not registered");
  registered.erase(place);
  return ncclSuccess;
}
