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
  exits 0 gpu_ranks 3 "$conf" --run.dir="$run" >"$run.log2" 2>&1 || return 1
  # A rank that leaves at once may be in the middle of a small file: the next start takes that away.
  [[ -z $(find "$run" -name '*.tmp*' -print -quit) ]] || return 1
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

# ras_server FILE: answers as NCCL's RAS does, on a port of the loopback that the file tells.
ras_server() {
  # shellcheck disable=SC2016 # Perl's
  exec perl -MIO::Socket::INET -e '
    my $server = IO::Socket::INET->new(Listen => 5, LocalAddr => "127.0.0.1") or die;
    open(my $file, ">", "$ARGV[0].tmp") or die;
    print $file $server->sockport;
    close $file;
    rename("$ARGV[0].tmp", $ARGV[0]);
    while (my $client = $server->accept) {
      for my $answer ("SERVER PROTOCOL 2\n", "OK\n", "rank 1 is behind\n") { <$client>; print $client $answer }
      close $client;
    }' "$1"
}

case_a_sum_that_one_rank_never_ends_is_given_up_and_NCCL_is_asked() {
  local run=$scratch/nccl-stall server result=0
  ras_server "$run.port" &
  server=$!
  poll 20 test -e "$run.port" || return 1
  NCCL_RAS_ADDR=localhost:$(cat "$run.port") struck nccl-stall ncclAllReduce:6:stall:1 \
    'no progress in step [0-9]+ for 15 s: all ranks wait for each other.*; what NCCL itself knows: ' || result=1
  kill "$server"
  ((result == 0)) && grep -qx 'rank 1 is behind' "$(sed -n 's/^reason=.*what NCCL itself knows: //p' "$run"/outcome/*)"
}

case_a_GPU_that_stands_still_is_named() {
  struck gpu-stall sgd:11:stall:1 'no progress in step [0-9]+ for 15 s: rank 1 on [^ ]+: its GPU has not finished its part of step [0-9]+ for 1[0-9] s'
}

# left_alone CODE NAME FAULT TEXT ARGS...: the launcher leaves the others alone when the rank has failed, and their own
# limits are far away: they leave because they are told.
left_alone() {
  local run=$scratch/$2 code=$1
  # shellcheck disable=SC2016 # the ranks expand it
  local each='[[ ${only_rank:-} != "$OMPI_COMM_WORLD_RANK" ]] || export "$setting"; "$0" "$@"; echo "left with $?"'
  FAKE_GPU_FAULT=$3 timeout -k 2 120 mpirun --oversubscribe --mca orte_enable_recovery 1 -n 3 bash -c "$each" "$lockstep" train \
    "$conf" --run.dir="$run" --limits.step=3000 "${@:5}" >"$run.log" 2>&1 || true
  if ! grep -qE "$4" "$run.log" || [[ $(grep -c "^left with $code\$" "$run.log") != 3 ]]; then
    cat "$run.log"
    return 1
  fi
  grep -q "^code=$code" "$run"/outcome/* && poll 20 gone "$run"
}

case_a_lost_GPU_is_told_to_ranks_that_wait_for_its_sum() {
  left_alone 76 lost-in-sum sgd:11:cudaErrorECCUncorrectable:2 'rank 2 on .*ECC.*the GPU is lost for this process' --comm.overlap=on
}

case_a_lost_GPU_is_told_to_ranks_that_wait_elsewhere() {
  left_alone 76 lost-elsewhere sgd:11:cudaErrorECCUncorrectable:2 'rank 2 on .*ECC.*the GPU is lost for this process' --comm.overlap=off
}

case_memory_that_is_out_on_one_rank_is_told() {
  only_rank=1 setting=FAKE_GPU_MEMORY_MIB=82 FAKE_GPU_MEMORY_MIB=512 left_alone 78 full-step '' \
    'rank 1 on .*out of memory: .* more for activations of a micro-batch .* use a smaller train.micro_batch' \
    --model.hidden=4096 --train.global_batch=384 --train.micro_batch=128
}

case_a_lost_GPU_is_named_and_the_run_is_one_to_requeue() {
  struck gpu-lost sgd:11:cudaErrorECCUncorrectable:2 'rank 2 on .*ECC.*the GPU is lost for this process'
}

# The folder takes longer than anybody waits before telling; what it is told counts all the same. One rank: a launcher
# gives those that are left no time.
case_a_failure_is_recorded_where_the_file_system_is_slow() {
  local run=$scratch/slow-outcome
  export only_rank=0 setting=LD_PRELOAD=$PWD/$build/test/libfault.so LOCKSTEP_FAULT=fsync:1:0:slower=1000:/outcome
  FAKE_GPU_FAULT=sgd:11:cudaErrorECCUncorrectable exits 76 gpu_ranks 0 "$conf" --run.dir="$run" >"$run.log" 2>&1 || return 1
  grep -q '^reason=.*the GPU is lost for this process' "$run"/outcome/* && [[ $(grep -c ',failed,' "$run/events.csv") == 1 ]] &&
    [[ $(grep -c 'error: .*the GPU is lost' "$run.log") == 1 ]] || return 1
  # Of the watchdog.
  FAKE_GPU_FAULT=sgd:11:stall exits 76 gpu_ranks 0 "$conf" --run.dir="$run-limit" --limits.step=3 --limits.checkpoint=3 \
    >"$run.log" 2>&1 || return 1
  grep -q '^reason=no progress in step [0-9]* for 3 s: rank 0 on .*: its GPU has not' "$run-limit"/outcome/* && grep -q ',failed,' "$run-limit/events.csv"
}

case_a_stopped_rank_is_named() {
  local run=$scratch/stopped job pid victim=''
  gpu_ranks 3 "$conf" --run.dir="$run" --train.steps=100000 --checkpoint.every=4 --checkpoint.keep=1000 --limits.step=15 --limits.checkpoint=15 \
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

case_ranks_that_do_not_meet_in_NCCL_say_so() {
  local run=$scratch/unmet
  FAKE_GPU_FAULT=ncclCommInitRankConfig:1:stall:1 exits 76 gpu_ranks 2 "$conf" --run.dir="$run" --limits.start=10 >"$run.log" 2>&1 ||
    return 1
  grep -qE 'call 0 \(the beginning of NCCL\): not done within 5 s' "$run.log"
}
