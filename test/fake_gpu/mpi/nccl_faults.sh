#!/bin/bash
# What happens to one rank's NCCL or GPU is told by all ranks within the limit.
# shellcheck source=../../cli/checks.bash
source "$(dirname "$0")/../../cli/checks.bash"
see_gpus
export FAKE_GPU_MEMORY_MIB=16 FAKE_GPU_FAULT LOCKSTEP_TEST_END=

# each_says RANKS PATTERN: in the output of the last run, each of RANKS says what matches; HERE is any rank's node.
each_says() {
  local rank
  for rank in $1; do
    grep -aqE "seen by $rank: ${2//HERE/[^ ,]+}" "$scratch/out" || {
      echo "rank $rank does not say: $2" && cat "$scratch/out" && return 1
    }
  done
}

# all_see RANKS PATTERN: the same of a new run, with the environment of the caller.
all_see() {
  # Without recovery mpirun itself ends the others.
  timeout -k 2 100 mpirun --bind-to none --mca mpi_yield_when_idle 1 --mca orte_enable_recovery 1 -n 3 \
    "$build/test/fake_gpu/mpi_tests" "driver: sums go on until one fails" >"$scratch/out" 2>&1
  each_says "$@"
}

sum='code 76: .*call 3 \(all-reduce of 1000 f32\): '
begin='code 76: .*call 0 \(the beginning of NCCL\): '

FAKE_GPU_FAULT=ncclAllReduce:3:ncclRemoteError:1
check "a call of NCCL that fails on one rank: the others" all_see "0 2" \
  "${sum}rank 1 on HERE gave up: ncclAllReduce: remote process exited or network error.*; all ranks are in this call"
check "... itself" each_says 1 "${sum}ncclAllReduce: remote process"

FAKE_GPU_FAULT=ncclAllReduce:3:async-ncclInternalError:1
check "an error of NCCL that comes later" all_see "0 2" \
  "${sum}rank 1 on HERE gave up: ncclAllReduce: internal error \\(injected in ncclAllReduce\\)"

FAKE_GPU_FAULT=ncclAllReduce:3:stall:1
check "a call that comes to no end" all_see "0 1 2" "${sum}.*not done within 2 s; all ranks are in this call"
check "... how to ask NCCL" grep -aq "ncclras -v, or nc with localhost:28028" "$scratch/out"

FAKE_GPU_FAULT=fill:1:stall:1
check "a GPU that stands still: the others" all_see "0 2" \
  "code 76: .*call 1 \\(all-reduce of 1000 f32\\): .*rank 1 on HERE is in call 1 \\(all-reduce of 1000 f32, to which its GPU has not come\\)"
check "... itself" each_says 1 "code 76: .*its GPU has not come to it within 2 s"

FAKE_GPU_FAULT=ncclCommInitRankConfig:1:ncclSystemError:1
check "a rank whose NCCL does not begin" all_see "0 2" \
  "${begin}rank 1 on HERE gave up: ncclCommInitRankConfig: unhandled system error"
FAKE_GPU_FAULT=ncclCommInitRankConfig:1:stall:1
check "a beginning that comes to no end" all_see "0 1 2" "${begin}.*not done within 2 s; all ranks are in this call"
FAKE_GPU_FAULT=ncclGetUniqueId:1:ncclSystemError:0
check "a first rank that cannot make an id" all_see "1 2" "${begin}rank 0 on HERE gave up: ncclGetUniqueId: unhandled system error"

FAKE_GPU_FAULT=ncclCommRegister:1:ncclUnhandledCudaError:1
check "memory that NCCL cannot register is used as it is" all_see "0 1 2" "no failure"

FAKE_GPU_FAULT=cudaEventRecord:10:cudaErrorECCUncorrectable:1
# They may not have begun with the next sum yet.
check "a lost device: the others" all_see "0 2" \
  "code 76: .*call [1-5] \\((all-reduce of 1000 f32|done, and no other since)\\): rank 1 on HERE gave up: cudaEventRecord failed: "
check "... itself" each_says 1 "code 76: .*cudaEventRecord failed: .*the GPU is lost"

FAKE_GPU_FAULT=ncclMismatch:1:stall LOCKSTEP_TEST_END='other size'
check "a rank that sums another size" all_see "0 2" \
  "${sum}.*not done within 2 s; rank 1 on HERE is in call 3 \\(all-reduce of 999 f32\\)"
FAKE_GPU_FAULT=
all_see 0 'the stand-in lets nobody see anything' >"$scratch/all" || true
check "... by which the stand-in ends a program" grep -aq "fake GPU: NCCL calls that do not match: rank" "$scratch/out"
LOCKSTEP_TEST_END="tell"
check "a rank that leaves for a reason of its own: the others" all_see "0 2" \
  "code 76: .*call [23] \\(.*rank 1 on HERE gave up: the memory is full"
LOCKSTEP_TEST_END="kill"
check "a rank that is killed" all_see "0 2" "${sum}.*not done within 2 s; no answer from rank 1 on HERE"
LOCKSTEP_TEST_END="stop"
check "a rank that stands still" all_see "0 2" "${sum}.*not done within 2 s; no answer from rank 1 on HERE"
summary
