// The fake GPU from the inside: what the stand-ins for libraries (cuBLASLt, cuDNN, NCCL) queue their work
// with.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <string>
#include <vector>

#include "emulated_kernels.h"

namespace fake_gpu {

// Queues work on a stream (null: the legacy stream, which nothing in this project may use: aborts). Checks at
// once, in the caller's thread and in program order, that all accesses lie in live device or page-locked
// memory and that nothing races: whatever wrote or, for a write, read these bytes before on another stream
// must come before by an event or a synchronisation. Violations abort with the names of both. `poll` runs in
// the device's own thread, when all earlier work of the stream and the events that it waits for are done,
// again and again until it returns true; it must not block. Work of different streams runs in any legal
// order. Returns the sticky error of a device that is lost, or an injected one, else cudaSuccess.
cudaError_t enqueue(cudaStream_t stream, std::string what, std::vector<Access> accesses,
                    std::function<bool()> poll);

// "fake GPU: <text>" to stderr and abort(): a fault of the program under test, or a call off the list.
[[noreturn]] void die(const std::string& text);

// Faults on demand, from the environment variable FAKE_GPU_FAULT: "CALL:N:ERROR[:RANK]", comma-separated (see
// README.md). True: the N-th call of this name has come, and this process is the rank.
bool fault_due(const std::string& call, std::string& error);

}  // namespace fake_gpu
