#include "comm/nccl/nccl_handle.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <utility>

#include "comm/nccl/ras.h"
#include "core/error.h"

namespace lockstep::comm::nccl {

std::string words_of(ncclResult_t result, const char* call, ncclComm_t comm) {
  std::string text = fmt::format("{}: {}", call, ncclGetErrorString(result));
  const char* last = comm == nullptr ? nullptr : ncclGetLastError(comm);
  if (last != nullptr && *last != '\0') text += fmt::format(" ({})", last);
  return text;
}

void Handle::need(ncclResult_t result, const char* name) {
  last_ = name;
  if (result != ncclSuccess && result != ncclInProgress)
    throw Error(ExitCode::peer_failed, words_of(result, name, comm_));
}

void Handle::begin(const ncclUniqueId& id, int rank, int size) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  need(ncclCommInitRankConfig(&comm_, size, id, rank, &config), "ncclCommInitRankConfig");
}

bool Handle::is_settled() {
  if (comm_ == nullptr) return true;
  ncclResult_t state = ncclSuccess;
  const ncclResult_t asked = ncclCommGetAsyncError(comm_, &state);
  if (asked != ncclSuccess) state = asked;
  need(state, last_);
  return state != ncclInProgress;
}

void Handle::announce(void* memory, std::size_t bytes) {
  void* handle = nullptr;
  // What cannot be registered is used as any other memory.
  if (ncclCommRegister(comm_, memory, bytes, &handle) != ncclSuccess) {
    cudaGetLastError();  // CUDA's reason, if there is one: the next launch would report it
  } else if (handle != nullptr) {
    announced_.push_back(handle);
  }
}

void Handle::begin_end() {
  for (void* handle : std::exchange(announced_, {})) {
    need(ncclCommDeregister(comm_, handle), "ncclCommDeregister");
  }
  need(ncclCommFinalize(comm_), "ncclCommFinalize");
}

void Handle::end() noexcept {
  ncclCommDestroy(std::exchange(comm_, nullptr));
}

void Handle::abort() noexcept {
  if (comm_ != nullptr) ncclCommAbort(std::exchange(comm_, nullptr));
}

std::string how_to_ask_nccl() {
  const std::string address = ras_address();
  if (address.empty()) return {};
  return fmt::format("; while ranks hang, NCCL itself tells where they are: ncclras -v, or nc with {}",
                     address);
}

}  // namespace lockstep::comm::nccl
