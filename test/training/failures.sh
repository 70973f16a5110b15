# shellcheck shell=bash
# Cases about saves that fail, writers that come too late, ranks that hang, kills in a row; and the row of the failure matrix
# that each case is about. Sourced by `test`.
# shellcheck disable=SC2154 # set there

case_a_save_that_fails_once_is_told_and_training_goes_on() {
  local run=$scratch/once
  export LOCKSTEP_FAULT=fsync:1:0:eio LOCKSTEP_FAULT_PATH=step-00000008 LOCKSTEP_FAULT_MARKER=$run.struck preloaded=yes
  exits 0 ranks 2 "$conf" --run.dir="$run" >"$run.log" 2>&1 || return 1
  [[ -e $run.struck0 ]] || return 1
  [[ $(grep -c 'warning: the checkpoint of step 8 failed: .*cannot flush .*step-00000008.*rank 0 on ' "$run.log") == 1 ]] || return 1
  [[ $(cut -d, -f1,3 "$run/events.csv" | tail -n +2 | xargs) == "0,started 4,saved 8,save failed 12,saved 14,saved 14,finished" ]] || {
    cat "$run/events.csv"
    return 1
  }
  same_run "$reference" "$run"
}

case_a_run_that_cannot_save_for_too_long_gives_up_and_keeps_the_last_checkpoint() {
  local run=$scratch/never
  export LOCKSTEP_FAULT=pwrite:1:0:fail LOCKSTEP_FAULT_MARKER=$run.struck preloaded=yes
  # Its first checkpoint is an earlier start's.
  exits 0 env -u LOCKSTEP_FAULT "$lockstep" train "$conf" --run.dir="$run" --train.steps=2 --optim.schedule=constant || return 1
  exits 76 ranks 2 "$conf" --run.dir="$run" --checkpoint.every=2 --checkpoint.minutes=0 --optim.schedule=constant \
    >"$run.log" 2>&1 || return 1
  [[ -e $run.struck0 && $(newest "$run") == */step-00000002.h5 ]] || return 1
  grep -q 'error: no checkpoint could be written for too long: the run ends here, after step 8' "$run.log" &&
    grep -q '^code=76' "$run"/outcome/* && grep -qx 'step=8' "$run"/outcome/* && [[ $(grep -c ',save failed,' "$run/events.csv") == 3 ]]
}

case_the_last_save_is_tried_again_and_then_left_to_the_next_start() {
  local run=$scratch/last
  export LOCKSTEP_FAULT=rename:1:0:fail LOCKSTEP_FAULT_PATH=step-00000014.h5.tmp LOCKSTEP_FAULT_MARKER=$run.struck preloaded=yes
  exits 76 ranks 2 "$conf" --run.dir="$run" --limits.checkpoint=5 >"$run.log" 2>&1 || return 1
  [[ -e $run.struck0 && $(newest "$run") == */step-00000012.h5 ]] || return 1
  # However many tries: the first and the last are told.
  [[ $(grep -c 'the checkpoint of step 14 failed' "$run.log") == 2 ]] || return 1
  [[ $(grep -c ',save failed,' "$run/events.csv") == 2 ]] || return 1
  grep -q 'error: the last checkpoint, of step 14, could not be written' "$run.log" || return 1
  unset LOCKSTEP_FAULT preloaded
  exits 0 ranks 1 "$conf" --run.dir="$run" && same_run "$reference" "$run"
}

# A real disk, of 14 MiB. What the case leaves is unmounted with it.
case_a_full_disk_and_a_read_only_folder_are_survived() {
  local disk=$scratch/disk run=$scratch/disk/run log=$scratch/disk.log job step
  ((EUID == 0)) || {
    echo "only root can mount a disk"
    return "$skip"
  }
  mkdir "$disk"
  mount -t tmpfs -o size=14m tmpfs "$disk"
  # shellcheck disable=SC2064 # now, not then
  trap "kill -KILL \$(pids_of 'run.dir=$run') || true; umount -l '$run/checkpoints' || true; umount -l '$disk'" EXIT
  ranks 2 "$conf" --run.dir="$run" --train.steps=1000000 --optim.schedule=constant --run.log_every=1000000 >"$log" 2>&1 &
  job=$!
  says() { grep -q "$1" "$log"; }
  # Since the event before: each disturbance makes saves fail first.
  saved_again() { [[ $(tail -n 1 "$run/events.csv" 2>/dev/null) == *,saved,* ]]; }
  poll 60 saved_again
  dd if=/dev/zero of="$disk/ballast" bs=16K 2>/dev/null || true
  poll 60 says 'the checkpoint of step .* failed: '
  poll 60 says 'metrics.csv cannot be written: its rows wait in memory'
  rm "$disk/ballast"
  poll 60 says 'metrics.csv takes rows again'
  poll 60 saved_again

  mount --bind "$run/checkpoints" "$run/checkpoints"
  mount -o remount,bind,ro "$run/checkpoints"
  poll 60 says 'the checkpoint of step .* failed: .*Read-only file system'
  umount "$run/checkpoints"
  poll 60 saved_again
  # shellcheck disable=SC2046
  kill -TERM $(pids_of "run.dir=$run")
  exits 75 wait "$job" || return 1
  step=$(tail -n 1 "$run/metrics.csv" | cut -d, -f1)
  ranks 0 "$conf" --run.dir="$scratch/roomy" --train.steps="$step" --optim.schedule=constant --checkpoint.every=0 \
    --run.log_every=1000000 >"$scratch/roomy.log" 2>&1
  each_step_once "$run/metrics.csv" "$step" && cmp "$run/metrics.csv" "$scratch/roomy/metrics.csv" &&
    h5diff "$(newest "$run")" "$(newest "$scratch/roomy")" /model /model
}

case_a_removed_run_folder_ends_the_run() {
  local run=$scratch/removed job
  ranks 2 "$conf" --run.dir="$run" --train.steps=1000000 >"$run.log" 2>&1 &
  job=$!
  poll 60 more_rows_than "$run/metrics.csv" 6
  mv "$run" "$run.elsewhere"
  exits 73 wait "$job" && grep -q 'removed was removed or replaced while it was in use' "$run.log" && [[ ! -e $run/checkpoints ]]
}

# late_writer CALL FILE [NTH]: restart 0 of a job is held in the first or NTH such call on this temporary file; restart 1
# does the whole work meanwhile.
late_writer() {
  local call=$1 run=$scratch/late-$1-$2 job before
  echo "$call:${3:-1}:0:hold:$2.tmp" >"$run.fault"
  LOCKSTEP_FAULT=@$run.fault LOCKSTEP_FAULT_MARKER=$run.held preloaded=yes \
    as_job 31 0 ranks 0 "$conf" --run.dir="$run" >"$run.log" 2>&1 &
  job=$!
  poll 60 test -e "$run.held0"
  exits 0 as_job 31 1 ranks 2 "$conf" --run.dir="$run" --checkpoint.every=0 >"$run.log2" 2>&1 || return 1
  before=$(cd "$run" && cksum ./*.csv config.ini owner outcome/31.1 && ls -A checkpoints)
  rm "$run.fault"
  exits 73 wait "$job" || return 1
  grep -q 'now belongs to job 31 (restart 1, on here): this attempt leaves it alone' "$run.log" &&
    grep -q '^code=73' "$run/outcome/31.0" &&
    diff <(echo "$before") <(cd "$run" && cksum ./*.csv config.ini owner outcome/31.1 && ls -A checkpoints) && same_run "$reference" "$run"
}
case_a_late_writer_publishes_nothing_when_it_wakes_before_the_fence() { late_writer fsync step-00000008.h5; }
case_a_late_writer_publishes_nothing_when_it_wakes_after_the_fence() { late_writer rename step-00000008.h5; }
case_a_late_writer_replaces_no_table_and_no_configuration() {
  late_writer fsync metrics.csv && late_writer fsync config.ini 2
}

case_a_slow_first_step_and_a_slow_checkpoint_are_no_hang() {
  local run=$scratch/slow
  # Past half the limit, where the watchdog begins to take notes.
  LOCKSTEP_FAULT=pread:1:1:slow=4000:/small/ LOCKSTEP_FAULT_MARKER=$run.slow-step preloaded=yes \
    exits 0 ranks 2 "$conf" --run.dir="$run" --train.steps=3 --optim.schedule=constant --limits.step=7 || return 1
  LOCKSTEP_FAULT=H5Dwrite:3:1:slow=4000 LOCKSTEP_FAULT_MARKER=$run.slow-save preloaded=yes \
    exits 0 ranks 2 "$conf" --run.dir="$run" --train.steps=5 --optim.schedule=constant --limits.checkpoint=7 || return 1
  [[ -e $run.slow-step1 && -e $run.slow-save1 ]] || return 1
  ranks 0 "$conf" --run.dir="$scratch/quick" --train.steps=3 --optim.schedule=constant &&
    ranks 0 "$conf" --run.dir="$scratch/quick" --train.steps=5 --optim.schedule=constant && same_run "$scratch/quick" "$run"
}

case_a_rank_that_hangs_in_a_collective_write_is_named() {
  local run=$scratch/stuck
  LOCKSTEP_FAULT=H5Dwrite:3:1:stall LOCKSTEP_FAULT_MARKER=$run.struck preloaded=yes \
    exits 76 ranks 3 "$conf" --run.dir="$run" --limits.checkpoint=3 >"$run.log" 2>&1 || return 1
  # Ranks that wait for it inside HDF5's call look no different.
  [[ -e $run.struck1 ]] &&
    grep -qx 'step=4' "$run"/outcome/* &&
    grep -qE '^reason=no progress in the checkpoint of step 4 for 3 s: .*rank 1 on [^;]* is still in the checkpoint of step 4' "$run"/outcome/*
}

ended() { ! kill -0 "$1" 2>/dev/null; }

# From a step on nothing in the run folder comes to an end, neither the checkpoint nor what ranks tell each other there.
case_a_file_system_that_hangs_ends_the_run() {
  local run=$scratch/hangs job
  LOCKSTEP_FAULT=@$run.fault LOCKSTEP_FAULT_MARKER=$run.struck preloaded=yes as_job 32 0 ranks 2 "$conf" --run.dir="$run" \
    --train.steps=100000 --checkpoint.every=50 --limits.checkpoint=3 >"$run.log" 2>&1 &
  job=$!
  poll 60 more_rows_than "$run/metrics.csv" 2 || return 1
  mkfifo "$run/watch/32.0.0" "$run/watch/32.0.1"
  echo "fsync:1:all:stall:${run##*/}/" >"$run.fault"
  poll 60 test -e "$run.struck0" || return 1
  poll 30 ended "$job" || {
    pids_of "run.dir=$run" | xargs -r kill -KILL
    return 1
  }
  exits 76 wait "$job" &&
    grep -qE "no progress in the checkpoint of step [0-9]+ for 3 s: the file system of $run/watch has not answered for 3 s; stack of rank" "$run.log"
}

case_a_checkpoint_of_another_model_is_refused_with_the_first_difference() {
  local run=$scratch/other-model before
  cp -R "$reference" "$run"
  before=$(cd "$run" && cksum metrics.csv checkpoints/*)
  exits 78 ranks 2 "$conf" --run.dir="$run" --model.channels=32,48 >"$run.log" 2>&1 || return 1
  grep -q 'model.channels: 32,64 in the checkpoint, 32,48 now' "$run.log" || return 1
  # What cannot work is not advised: nor for another optimizer, or an average of the weights that is not there.
  grep -qE 'does not fit: tensor [a-z0-9./_]+ .*; start over with --fresh, or give' "$run.log" || return 1
  exits 78 ranks 0 "$conf" --run.dir="$run" --optim.name=adamw >"$run.log" 2>&1 || return 1
  grep -q 'does not fit: it .*tensor optimizer/.*; start over' "$run.log" && ! grep -q -e --fork "$run.log" || return 1
  exits 78 ranks 0 "$conf" --run.dir="$run" --optim.ema_decay=0.9 --fork >"$run.log" 2>&1 || return 1
  grep -q 'does not fit: it lacks tensor ema/.*; start over with --fresh, or give' "$run.log" || return 1
  exits 78 ranks 2 "$conf" --run.dir="$run" --model.channels=32,48 --fork >"$run.log" 2>&1 || return 1
  grep -qE 'does not fit: tensor [a-z0-9./_]+ has shape .* there and .* in this run' "$run.log" &&
    [[ $(cd "$run" && cksum metrics.csv checkpoints/*) == "$before" ]]
}

case_killed_again_and_again_a_run_goes_on_and_leaves_nothing_behind() {
  local run=$scratch/again left i
  export TMPDIR=$scratch/again-tmp OMPI_MCA_btl_vader_backing_directory=$scratch/again-shm
  mkdir "$TMPDIR" "$OMPI_MCA_btl_vader_backing_directory"
  for ((i = 0; i < ${RESTARTS:-3}; ++i)); do
    LOCKSTEP_FAULT=H5Dwrite:$((3 + 7 * (i % 3))):all:kill LOCKSTEP_FAULT_MARKER=$run.struck$i. preloaded=yes \
      ranks 2 "$conf" --run.dir="$run" --checkpoint.every=1 --train.steps=$((14 + i)) --optim.schedule=constant >"$run.log$i" 2>&1 || true
    compgen -G "$run.struck$i.*" >/dev/null || {
      echo "start $((i + 1)) was not killed; its end:" && tail -n 5 "$run.log$i"
      return 1
    }
  done
  exits 0 ranks 2 "$conf" --run.dir="$run" --train.steps=$((14 + i)) --optim.schedule=constant || return 1
  exits 0 ranks 0 "$conf" --run.dir="$run.calm" --train.steps=$((14 + i)) --optim.schedule=constant || return 1
  left=$(find "$TMPDIR" "$OMPI_MCA_btl_vader_backing_directory" -mindepth 1 && find "$run" -name '*.tmp.*')
  [[ -z $left ]] || {
    echo "left behind: $left"
    return 1
  }
  same_run "$run.calm" "$run"
}

# Which row of the failure matrix a case is about, and what it is called there.
declare -A row_of=(
  [a_second_run_in_the_same_folder_is_refused]="12|a second run outside Slurm"
  [a_frozen_rank_is_named_and_all_leave]="7|a rank is frozen in a step"
  [kill_9_of_one_rank_while_saving]="5|kill -9 of one rank while it saves"
  [kill_9_of_all_ranks_while_saving]="5|kill -9 of all ranks while they save"
  [a_damaged_newest_checkpoint_is_named_and_the_older_one_used]="10|the newest checkpoint bit-flipped"
  [a_run_without_an_intact_checkpoint_does_not_start_over_by_itself]="10|all checkpoints damaged: refused, 65"
  [a_save_that_fails_once_is_told_and_training_goes_on]="9|an I/O error in one save: training goes on"
  [a_run_that_cannot_save_for_too_long_gives_up_and_keeps_the_last_checkpoint]="9|no save for too long: 76"
  [the_last_save_is_tried_again_and_then_left_to_the_next_start]="9|the last save fails: tried again, then 76"
  [a_full_disk_and_a_read_only_folder_are_survived]="9|disk full, then folder read-only: training goes on"
  [a_removed_run_folder_ends_the_run]="9|the run folder is removed: 73"
  [a_late_writer_publishes_nothing_when_it_wakes_before_the_fence]="6|a late writer wakes in its last fsync"
  [a_late_writer_publishes_nothing_when_it_wakes_after_the_fence]="6|a late writer wakes in its rename"
  [a_late_writer_replaces_no_table_and_no_configuration]="6|a late writer wakes while it opens its tables"
  [a_slow_first_step_and_a_slow_checkpoint_are_no_hang]="7|a slow first step, a slow checkpoint: no alarm"
  [a_file_system_that_hangs_ends_the_run]="7|the file system hangs, without Slurm"
  [a_rank_that_hangs_in_a_collective_write_is_named]="7|a rank hangs in a collective write, without Slurm"
  [a_checkpoint_of_another_model_is_refused_with_the_first_difference]="10|a checkpoint of another model: refused, 78"
  [killed_again_and_again_a_run_goes_on_and_leaves_nothing_behind]="13|restarts in a row, without Slurm"
)
for name in "${!row_of[@]}"; do declare -F "case_$name" >/dev/null || { echo "no case $name" && exit 1; }; done
