# shellcheck shell=bash
# Cases about what a run looks for among its ranks: copies that differ, slow ranks, the hash of the state.
# Sourced by `test`.
# shellcheck disable=SC2154 # what `test` and lib.sh set

# rank_of_run RUN RANK: the process of this rank.
rank_of_run() {
  local pid
  for pid in $(pids_of "run.dir=$1"); do
    ! grep -qzx "OMPI_COMM_WORLD_RANK=$2" "/proc/$pid/environ" || echo "$pid"
  done
}

# flipped RUN RANKS RANK EVERY FOUND ARGS...: all parameters of RANK lie still while rank 0 is held in the renaming of the
# checkpoint of step 8; a bit of one is flipped, and the run, which compares every EVERY steps and before it saves, must end
# with 76 after step FOUND.
flipped() {
  local run=$1 count=$2 rank=$3 every=$4 found=$5 job pid result=0
  shift 5
  echo rename:1:0:hold:step-00000008 >"$run.fault"
  LOCKSTEP_FAULT=@$run.fault LOCKSTEP_FAULT_MARKER=$run.struck preloaded=yes ranks "$count" "$conf" --run.dir="$run" \
    --checkpoint.every=8 --guard.compare_every="$every" "$@" >"$run.log" 2>&1 &
  job=$!
  poll 60 test -e "$run.struck0" || return 1
  HDF5_USE_FILE_LOCKING=FALSE h5dump -d /model/conv1.weight -b LE -o "$run.tensor" \
    "$run"/checkpoints/.step-00000008.h5.tmp.* >/dev/null || return 1
  pid=$(rank_of_run "$run" "$rank")
  "$build/test/training/flip_bit" "$pid" "$run.tensor" || result=$?
  rm "$run.fault" # the run goes on in any case
  if ((result != 0)); then
    wait "$job" || true
    ((result != skip)) || echo "this user may not write to the memory of another process (kernel.yama.ptrace_scope)"
    return "$result"
  fi
  exits 76 wait "$job" || return 1
  grep -q '^code=76' "$run"/outcome/* && [[ $(newest "$run") == */step-00000008.h5 ]] &&
    (($(tail -n 1 "$run/metrics.csv" | cut -d, -f1) == found))
}

case_a_flipped_bit_in_a_ranks_memory_is_found_named_and_undone() {
  local run=$scratch/flipped
  flipped "$run" 4 2 10 10 || return
  grep -E ',diverged,after step 10 .*: rank 2 on [^ ]+ has other bits than most ranks in model/conv1.weight[; ]' \
    "$run/events.csv" || return 1
  exits 0 ranks 3 "$conf" --run.dir="$run" >"$run.log2" 2>&1 || return 1
  grep -q 'resumed from step 8' "$run.log2" && same_run "$reference" "$run" && ! grep -q ',diverged,' <(tail -n 3 "$run/events.csv")
}

case_two_ranks_that_differ_are_both_named_before_anything_is_saved() {
  local run=$scratch/flipped2
  flipped "$run" 2 1 1000 14 --train.reduction=fast --guard.anomaly=rollback || return
  grep -E ',diverged,after step 14 .*: rank 0 on [^ ]+; rank 1 on [^ ]+ have different bits in model/conv1.weight; .* cannot be told' \
    "$run/events.csv"
}

case_hashes_of_the_state_are_the_same_on_all_rank_counts_and_over_a_chain() {
  local n before run=$scratch/hashes
  local arguments=(--optim.ema_decay=0.9 --data.crop_padding=2 --data.flip=on --log-hash)
  # Of 12 lanes 3 ranks have as many each, 8 have not; the chain has all counts up to 4.
  for n in 1 3 8; do
    ranks "$n" "$conf" --run.dir="$run$n" "${arguments[@]}" >"$run$n.log" 2>&1
    cmp "${run}1/hashes.csv" "$run$n/hashes.csv" || return 1
    [[ $("$lockstep" checkpoint verify "$run$n/checkpoints/step-00000014.h5") == *" state $(tail -n 1 "${run}1/hashes.csv" | cut -d, -f2)" ]] ||
      return 1
  done
  each_step_once "${run}1/hashes.csv" 14 || return 1
  [[ $(tail -n +2 "${run}1/hashes.csv" | cut -d, -f2 | sort -u | grep -cxE '[0-9a-f]{16}') == 14 ]] || return 1
  # Some steps further each time: the 24th collective lies behind start-up. `stop_and_go` of other cases strikes everywhere.
  for n in 4 2 3; do
    before=$(rows "$run-chain/hashes.csv")
    LOCKSTEP_FAULT=MPI_collective:24:0:term preloaded=yes exits 75 ranks "$n" "$conf" --run.dir="$run-chain" "${arguments[@]}" \
      >>"$run-chain.log" 2>&1 || return 1
    more_rows_than "$run-chain/hashes.csv" "$before" || return 1
  done
  exits 0 ranks 1 "$conf" --run.dir="$run-chain" "${arguments[@]}" >>"$run-chain.log" 2>&1 || return 1
  cmp "${run}1/hashes.csv" "$run-chain/hashes.csv" && same_run "${run}1" "$run-chain" || return 1
  # Without the option no row is added, and none stays of a step that comes again.
  cp -R "$run-chain" "$run-without"
  rm "$run-without/checkpoints/step-00000014.h5"
  ranks 1 "$conf" --run.dir="$run-without" "${arguments[@]:0:3}" >/dev/null 2>&1
  diff <(head -n 13 "${run}1/hashes.csv") "$run-without/hashes.csv"
}

# slowed RUN FAULT FACTOR: three ranks with a lane each, of which the fault slows one; they are compared once, by the 7
# steps behind the 3 that a start needs to settle. That nobody is named where all are equally fast, is for unit tests to
# show, which have no neighbours on the machine.
slowed() {
  LOCKSTEP_FAULT=$2 preloaded=yes ranks 3 "$conf" --run.dir="$1" --model.name=mlp --model.hidden=8 --train.steps=11 \
    --train.global_batch=48 --train.micro_batch=16 --eval.every=0 --checkpoint.every=0 --data.prefetch=1 --data.check=layout \
    --data.shuffle_window=4 --guard.straggler_steps=7 --guard.straggler_factor="$3" >"$1.log" 2>&1
}
# the_slow_one RUN RANK WHAT: it was named, once.
the_slow_one() {
  cat "$1/events.csv" "$1/ranks.csv"
  grep -E ",straggler,rank $2 on [^ ]+ is slow: over 7 steps .* it is slow in $3:" "$1/events.csv" &&
    [[ $(grep -c ",straggler,rank $2 on" "$1/events.csv") == 1 ]]
}

case_a_slow_rank_is_named_with_what_it_is_slow_in() {
  local run=$scratch/slow
  # The first ones belong to start-up.
  slowed "$run-data" pread:30:1:slower=100:small/ 2 || return 1
  the_slow_one "$run-data" 1 'waiting for data' || return 1
  grep -qE '^stragglers=(.*; )?rank 1 on [^ ]+ \(waiting for data\)' "$run-data/status" || return 1
  [[ $(rows "$run-data/ranks.csv") == 4 ]] || return 1
  # Others that a busy machine holds up compute for longer, but their data are there.
  awk -F, 'NR == 1 { next } $1 == 1 { slow = $4 } $1 != 1 && $4 > other { other = $4 } END { exit !(slow > other) }' \
    "$run-data/ranks.csv" || return 1
  slowed "$run-compute" dnnl_sgemm:1:2:slower=30 2 || return 1
  the_slow_one "$run-compute" 2 computing || return 1
  slowed "$run-off" dnnl_sgemm:1:2:slower=30 0 || return 1
  ! grep ,straggler, "$run-off/events.csv"
}
