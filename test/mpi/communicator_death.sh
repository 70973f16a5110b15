#!/bin/bash
# A rank that is killed, stopped or leaves in the middle of a run is named by all others within the limit.
# shellcheck source=../cli/checks.bash
source "$(dirname "$0")/../cli/checks.bash"

# Without recovery mpirun itself ends the others.
survivors_see() {
  LOCKSTEP_TEST_END=$1 timeout -k 2 60 mpirun --oversubscribe --mca orte_enable_recovery 1 -n 3 \
    "$build/test/mpi/tests" "driver: rank 1 goes by LOCKSTEP_TEST_END" >"$scratch/out" 2>&1
  cat "$scratch/out"
  local rank
  for rank in 0 2; do
    grep -aq "seen by $rank: .*call 1 (all-reduce of 1000000 f32): .*no answer from rank 1 on [^ ,]*\$" "$scratch/out" ||
      return 1
  done
}

check "a rank that is killed" survivors_see kill
check "a rank that stands still" survivors_see stop
check "a rank that leaves" survivors_see leave
summary
