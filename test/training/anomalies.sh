# shellcheck shell=bash disable=SC2154
# Cases of bad samples, early stops and best checkpoints. Sourced by `test`, which sets what is used here.

# Sample 137 (row 37 of part-1.h5) is finite, and yet a model overflows on it: it comes in steps 9, 19 and 37.
planted() { # once, also by cases side by side
  exec {planting}>"$scratch/planting" && flock "$planting"
  [[ -e $scratch/planted.conf ]] || make_planted_data
  exec {planting}>&-
}
make_planted_data() {
  "$build/test/training/make_planted" "$scratch/planted" 3 100 137 3e38
  "$build/test/training/make_planted" "$scratch/outlier" 3 100 137 1e6
  "$build/test/training/make_planted" "$scratch/clean" 1 60
  cat >"$scratch/planted.new" <<END
[data]
train = $scratch/planted
test = $scratch/clean
shuffle_window = 32
[model]
name = mlp
hidden = 256,64
[optim]
lr = 0.02
clip_norm = 1
[train]
steps = 40
global_batch = 24
micro_batch = 4
reduction = exact
[eval]
every = 5
batch = 16
[checkpoint]
every = 6
END
  mv "$scratch/planted.new" "$scratch/planted.conf"
}

# guarded N RUN ARGS...: trains on the planted data on N ranks.
guarded() { ranks "$1" "$scratch/planted.conf" --run.dir="$2" "${@:3}"; }

# chain_of RUN ARGS...: starts on changing numbers of ranks, each stopped at another collective of its own. Those of one
# rank make such a call only where they save.
chain_of() {
  local run=$1 attempt=0 code=75 where='' counts=(24 28 8) numbers=(3 2 0)
  while ((code == 75)); do
    ((attempt < 40)) || return 1
    code=0
    LOCKSTEP_FAULT=MPI_collective:${counts[attempt % 3]}:0:term LOCKSTEP_FAULT_MARKER="$run.struck$attempt." \
      preloaded=yes guarded "${numbers[attempt % 3]}" "$run" "${@:2}" >>"$run.log" 2>&1 || code=$?
    where+=" $(($(rows "$run/metrics.csv") - 1))"
    attempt=$((attempt + 1))
  done
  echo "$attempt starts, which stopped after the steps$where; the last one ended with $code"
  [[ $code == 0 ]] && ((attempt >= 3 && $(find "${run%/*}" -name "${run##*/}.struck*" | wc -l) >= attempt - 1))
}

same_anomalies() { same_run "$1" "$2" && cmp "$1/anomalies.csv" "$2/anomalies.csv"; }

# only_the_planted_sample RUN STEPS...: is listed, once in each of these steps.
only_the_planted_sample() {
  diff <(tail -n +2 "$1/anomalies.csv" | cut -d, -f1,3-5) <(printf '%s,137,part-1.h5,37\n' "${@:2}")
}

case_an_anomaly_stops_the_run_and_names_the_bad_sample() {
  local run=$scratch/anomaly-stop n
  planted
  for n in 0 3; do
    exits 78 guarded "$n" "$run$n" --checkpoint.every=4 >"$run.log" 2>&1 || return 1
    grep -q 'error: step 9: the loss is nan; the worst of 24 samples is row 37 of .*/part-1.h5' "$run.log" || return 1
    only_the_planted_sample "$run$n" 9 && [[ $(newest "$run$n") == */step-00000008.h5 ]] || return 1
    each_step_once "$run$n/metrics.csv" 8 || return 1
  done
  exits 78 guarded 0 "${run}0" --checkpoint.every=4 >"$run.log" 2>&1 &&
    cmp "${run}0/anomalies.csv" "${run}3/anomalies.csv"
}

case_skipped_steps_are_the_same_at_any_rank_count_and_across_stops() {
  local run=$scratch/skip
  planted
  guarded 0 "$run" --guard.anomaly=skip >"$run.log" 2>&1 || return 1
  only_the_planted_sample "$run" 9 19 37 && each_step_once "$run/metrics.csv" 40 || return 1
  [[ $(grep -c ',nan,.*,nan$' "$run/metrics.csv") == 3 && $(grep -c ,skipped, "$run/events.csv") == 3 ]] || return 1
  ! grep -q nan "$run/eval.csv" || return 1
  guarded 3 "$run-3" --guard.anomaly=skip >"$run.log" 2>&1 && same_anomalies "$run" "$run-3" || return 1
  chain_of "$run-chain" --guard.anomaly=skip && same_anomalies "$run" "$run-chain"
}

case_a_rollback_is_the_same_at_any_rank_count_and_across_stops() {
  local run=$scratch/rollback
  planted
  # Before the first checkpoint, and after several; only one is kept beside the one to go back to.
  set -- --guard.anomaly=rollback --checkpoint.every=15 --checkpoint.keep=1
  guarded 0 "$run" "$@" >"$run.log" 2>&1 || return 1
  only_the_planted_sample "$run" 9 19 37 && each_step_once "$run/metrics.csv" 40 || return 1
  [[ $(grep -E '^[0-9]+,[0-9]+,[0-9]+,,,[0-9.]+,$' "$run/metrics.csv" | cut -d, -f1 | xargs) == \
    "$(echo {1..9} {16..19} {31..37})" ]] || return 1
  [[ $(cut -d, -f1 "$run/eval.csv" | xargs) == "step 10 15 20 25 30 40" ]] || return 1
  [[ $(grep -c ',rolled back,' "$run/events.csv") == 3 ]] || return 1
  guarded 3 "$run-3" "$@" >"$run.log" 2>&1 && same_anomalies "$run" "$run-3" || return 1
  chain_of "$run-chain" "$@" && same_anomalies "$run" "$run-chain"
}

case_a_rollback_passes_by_what_the_clock_and_stops_have_saved() {
  local run=$scratch/rollback-clock
  planted
  set -- --guard.anomaly=rollback --checkpoint.every=0 --checkpoint.keep=1
  guarded 0 "$run" "$@" >"$run.log" 2>&1 || return 1
  [[ $(grep -c 'back to the parameters of step 0;' "$run/events.csv") == 3 ]] || return 1
  guarded 3 "$run-clock" "$@" --checkpoint.minutes=0.0001 >"$run.log" 2>&1 && same_anomalies "$run" "$run-clock" || return 1
  chain_of "$run-chain" "$@" && same_anomalies "$run" "$run-chain"
}

case_a_run_that_always_goes_back_to_the_same_step_ends() {
  local run=$scratch/rollback-limit
  planted
  set -- --guard.anomaly=rollback --checkpoint.every=0 --guard.max_anomalies=2
  # Bad steps 9 and 19 lie behind the checkpoint that the second start goes on from.
  exits 0 guarded 0 "$run" "$@" --train.steps=30 >"$run.log" 2>&1 || return 1
  exits 78 guarded 2 "$run" "$@" >"$run.log" 2>&1 || return 1
  grep -q 'step 37: the loss is nan; .*the run has gone back to step 0 2 times' "$run.log" || return 1
  exits 0 guarded 2 "$run" "$@" --guard.max_anomalies=3 >"$run.log" 2>&1 && each_step_once "$run/metrics.csv" 40
}

case_a_rollback_finds_another_checkpoint_where_the_wanted_one_is_damaged() {
  local run=$scratch/rollback-damaged
  planted
  set -- --guard.anomaly=rollback --checkpoint.every=5
  guarded 0 "$run" "$@" --train.steps=7 >"$run.log" 2>&1
  printf 'XXXXXXXX' | dd of="$run/checkpoints/step-00000005.h5" bs=1 seek=20000 conv=notrunc status=none
  guarded 2 "$run" "$@" --train.steps=12 >"$run.log" 2>&1 || return 1
  grep -q 'warning: .*step-00000005.h5.*; taking the newest intact one' "$run.log" &&
    grep -q 'back to the parameters of step 7, passing over the samples of steps 8 to 9' "$run.log" &&
    each_step_once "$run/metrics.csv" 12
}

case_a_spike_is_an_anomaly_once_the_mean_has_settled() {
  local run=$scratch/spike
  planted
  set -- --data.train="$scratch/outlier" --guard.anomaly=skip --guard.spike_factor=5
  guarded 0 "$run" "$@" >"$run.log" 2>&1 || return 1
  only_the_planted_sample "$run" 37 || return 1
  grep -q 'step 37 makes no update: the loss is [0-9.]*, more than 5 x the recent mean of' "$run.log" || return 1
  # Too short a time since the second start for a mean that had to begin anew.
  guarded 0 "$run-again" "$@" --train.steps=30 && guarded 2 "$run-again" "$@" && same_anomalies "$run" "$run-again"
}

case_too_many_anomalies_in_a_row_stop_the_run() {
  local run=$scratch/row
  planted
  exits 78 guarded 2 "$run" --guard.anomaly=skip --guard.max_anomalies=3 --optim.lr=1e30 --optim.clip_norm=0 \
    >"$run.log" 2>&1 || return 1
  grep -q '4 anomalies in a row are more than guard.max_anomalies = 3' "$run.log" &&
    grep -q 'so is that of each of the 24 samples: the model itself has gone wrong before' "$run.log" &&
    (($(cut -d, -f1 "$run/anomalies.csv" | sort | uniq -c | awk '{ print $1 }' | sort -n | tail -n 1) <= 16))
}

# The learning rate makes the test loss rise now and then.
early=(--optim.lr=0.3 --eval.every=3 --eval.patience=3)

case_a_run_stops_early_at_any_rank_count_and_across_stops() {
  local run=$scratch/early-stop last
  planted
  set -- --data.train="$scratch/clean" "${early[@]}"
  guarded 0 "$run" "$@" >"$run.log" 2>&1 || return 1
  grep -E 'finished: stopped early: no better loss in 3 evaluations; best [0-9.e-]+ after step [0-9]+' "$run.log" || return 1
  last=$(tail -n 1 "$run/metrics.csv" | cut -d, -f1)
  ((last < 40)) && [[ $(newest "$run") == *$(printf 'step-%08d.h5' "$last") ]] || return 1
  guarded 3 "$run-3" "$@" >"$run.log" 2>&1 && same_run "$run" "$run-3" || return 1
  chain_of "$run-chain" "$@" && same_run "$run" "$run-chain" || return 1
  # A run that has stopped early stays so, unless it is given more patience.
  guarded 2 "$run-3" "$@" >"$run.log" 2>&1 && grep -q 'finished: stopped early' "$run.log" || return 1
  same_run "$run" "$run-3" || return 1
  guarded 0 "$run-3" "$@" --eval.patience=0 >"$run.log" 2>&1 && each_step_once "$run-3/metrics.csv" 40
}

case_an_evaluation_that_no_checkpoint_knows_of_is_made_again() {
  local run=$scratch/unknown every
  planted
  # None is better than the first by so much: the run ends three evaluations after it, whichever that is.
  set -- --data.train="$scratch/clean" "${early[@]}" --eval.min_delta=100
  guarded 0 "$run-undisturbed" "$@" --eval.every=4 --checkpoint.every=4 >"$run.log" 2>&1 || return 1
  # The first start evaluates only at the end, so that its checkpoint of step 4 knows of no evaluation; the second one
  # evaluates there and is killed in the next save.
  for every in 0 4; do
    export LOCKSTEP_FAULT=rename:1:0:kill LOCKSTEP_FAULT_PATH=step-00000008 LOCKSTEP_FAULT_MARKER=$run.struck$every.
    preloaded=yes exits 137 guarded 0 "$run" "$@" --eval.every=$every --checkpoint.every=$((every == 0 ? 4 : 8)) \
      >>"$run.log" 2>&1 || return 1
    unset LOCKSTEP_FAULT LOCKSTEP_FAULT_PATH LOCKSTEP_FAULT_MARKER
  done
  [[ $(find "$scratch" -name 'unknown.struck*' | wc -l) == 2 && $(newest "$run") == */step-00000004.h5 ]] || return 1
  [[ $(cut -d, -f1 "$run/eval.csv" | xargs) == "step 4 8" ]] || return 1
  guarded 0 "$run" "$@" --eval.every=4 --checkpoint.every=4 >>"$run.log" 2>&1 && same_run "$run-undisturbed" "$run"
}

case_the_best_checkpoint_is_kept_and_linked_to() {
  local run=$scratch/best-kept best
  planted
  set -- --data.train="$scratch/clean" "${early[@]}" --checkpoint.keep_best=on --checkpoint.every=4 \
    --checkpoint.keep=1 --eval.patience=0
  guarded 0 "$run" "$@" >"$run.log" 2>&1 || return 1
  best=$(tail -n +2 "$run/eval.csv" | sort -t, -k4,4g -k1,1n | head -n 1 | cut -d, -f1)
  cat "$run/eval.csv"
  ((best < 40)) && [[ $(find "$run/checkpoints" -name 'step-*' -printf '%f\n' | sort | xargs) == \
    "$(printf 'step-%08d.h5 step-00000040.h5' "$best")" ]] || return 1
  [[ $(readlink "$run/checkpoints/best.h5") == $(printf 'step-%08d.h5' "$best") ]] || return 1
  "$lockstep" checkpoint verify "$run/checkpoints/best.h5" || return 1
  guarded 3 "$run-again" "$@" --train.steps=21 && guarded 0 "$run-again" "$@" && same_run "$run" "$run-again" || return 1
  h5diff "$run/checkpoints/best.h5" "$run-again/checkpoints/best.h5" /model /model
}

case_a_loss_that_does_not_improve_raises_an_alert() {
  local run=$scratch/stalled
  planted
  set -- --optim.lr=0 --guard.anomaly=skip
  guarded 0 "$run" "$@" --guard.stalled_minutes=1e-9 2>&1 | tee "$run.log"
  grep -q 'the loss has not improved for ' "$run.log" || return 1
  grep -q ',alert,the loss has not improved' "$run/events.csv" || return 1
  guarded 0 "$run-never" "$@" && same_anomalies "$run" "$run-never"
}
