#include "device/cuda/trial_kernel.h"

#include "device/cuda/launch.h"
#include "device/cuda/resources.h"

namespace lockstep::device::cuda {

namespace {

__global__ void trial(int) {}

}  // namespace

void run_trial_kernel() {
  const Stream stream;
  LOCKSTEP_LAUNCH(trial, Grid{}, stream.get(), 0);
  check(cudaStreamSynchronize(stream.get()), "a first kernel");
}

}  // namespace lockstep::device::cuda
