# shellcheck shell=bash
# Faults of NCCL, of a GPU and of a rank in the middle of a run: all ranks leave within their limit, with 76 and a
# message that names who is at fault, nothing stays behind, and the next start goes on. Sourced by `test`.
# shellcheck disable=SC2154

# undisturbed: the run that the others must come to; made once, by whichever case needs it first.
undisturbed() {
  (
    flock 9
    [[ -e $scratch/undisturbed.done ]] || gpu_ranks 3 "$conf" --run.dir="$scratch/undisturbed" >"$scratch/undisturbed.log" 2>&1
    touch "$scratch/undisturbed.done"
  ) 9>"$scratch/undisturbed.lock"
}

# gone RUN: no process of the run is left.
gone() { [[ -z $(pids_of "run.dir=$1") ]]; }

# ends_and_resumes RUN TEXT: the attempt whose log is RUN.log has said TEXT and left 76; the next start does what the
# undisturbed run has done.
ends_and_resumes() {
  local run=$1 text=$2
  grep -qE "$text" "$run.log" || {
    echo "nothing of /$text/ in:"
    grep '^lockstep' "$run.log"
    return 1
  }
  grep -q '^code=76' "$run"/outcome/* && poll 20 gone "$run" || return 1
  [[ -z $(find "$run" -name '*.tmp*' -print -quit) ]] || return 1
  exits 0 gpu_ranks 3 "$conf" --run.dir="$run" >"$run.log2" 2>&1 || return 1
  grep -q 'resumed from step 4' "$run.log2" && undisturbed && cmp "$scratch/undisturbed/metrics.csv" "$run/metrics.csv"
}

# struck NAME FAULT TEXT: a run of three ranks with the fault.
struck() {
  local run=$scratch/$1
  FAKE_GPU_FAULT=$2 exits 76 gpu_ranks 3 "$conf" --run.dir="$run" --limits.step=15 >"$run.log" 2>&1 || {
    cat "$run.log"
    return 1
  }
  ends_and_resumes "$run" "$3"
}

case_an_error_of_NCCL_on_one_rank_ends_all() {
  struck nccl-error ncclAllReduce:6:ncclRemoteError:1 'rank 1 on .*: ncclAllReduce: .*remote'
}

case_an_error_that_NCCL_tells_later_ends_all() {
  struck nccl-async ncclAllReduce:6:async-ncclInternalError:2 'rank 2 on .*ncclAllReduce: internal error'
}

case_a_lost_GPU_is_named_and_the_run_is_one_to_requeue() {
  struck gpu-lost sgd:11:cudaErrorECCUncorrectable:2 'rank 2 on .*ECC.*the GPU is lost for this process'
}

case_a_stopped_rank_is_named() {
  local run=$scratch/stopped job pid victim=''
  gpu_ranks 3 "$conf" --run.dir="$run" --train.steps=100000 --checkpoint.every=4 --checkpoint.keep=1000 --limits.step=15 \
    >"$run.log" 2>&1 &
  job=$!
  poll 60 more_rows_than "$run/metrics.csv" 5 || return 1
  for pid in $(pids_of "run.dir=$run"); do
    ! grep -qzx 'OMPI_COMM_WORLD_RANK=1' "/proc/$pid/environ" || victim=$pid
  done
  kill -STOP "$victim"
  exits 76 wait "$job" || return 1
  grep -qE 'no progress in .* for 15 s: rank 1 on' "$run.log" && grep -q '^code=76' "$run"/outcome/* && poll 20 gone "$run"
}
