# shellcheck shell=bash
# Cancelled in the batch script's check, in start-up, in an evaluation, while waiting for data and while saving a
# checkpoint, by one job after the other in the same run folder: saved, and never requeued.
# nodes: 2
# shellcheck disable=SC2154

expect_cancelled() { # PHASE
  await_end
  expect "state of the job that was cancelled $1" "$(job_field "$job" JobState)" CANCELLED
  expect "its restarts" "$(job_field "$job" Restarts)" 0
  expect "its requeues" "$(grep -c "^JobId=$job .* JobState=PENDING " "$cluster/log/jobcomp.txt")" 0
  report_recovery 4 "cancelled $1" -
}

# cancel_held RANK: cancels the job, whose rank is held, and lets it go on when it has been told.
cancel_held() {
  on_cluster scancel "$job"
  await_told_to_stop "$1"
}

expect_saved() { # N PHASE
  await has_happened stopped "$1"
  stopped_step=$(event stopped "$1" 1)
  expect_match "cause of stop $1" "$(event stopped "$1" 4)" '^signal TERM'
  await test -e "$run/outcome/$job.0"
  clear_fault
  expect_outcome 0 75 "$stopped_step" '^signal TERM'
  expect_cancelled "$2"
  expect_match "the last line" "$(grep '^lockstep: job' "$work/lockstep-$job.out")" 'not requeued: the job was cancelled$'
  [[ $stopped_step -eq 0 ]] || expect_intact "$stopped_step"
}

run_case() {
  hold_before "[[ \$* == *--check* ]]"
  submit --nodes=2
  await test -e "$work/waiting"
  on_cluster scancel "$job"
  await test -e "$work/signalled"
  touch "$work/go"
  expect_cancelled "in the batch script's check"
  rm "$work/before"
  [[ ! -e $run/metrics.csv ]] || expect "steps of a job that was cancelled before its start" "$(steps_done)" 0

  set_fault "MPI_Allreduce:1:1:hold"
  submit --nodes=2
  await_struck 1
  cancel_held 1
  clear_fault
  expect_saved 1 "in start-up"
  expect "steps" "$stopped_step" 0

  submit --nodes=2
  await is_at_step 20
  set_fault "pread:1:1:hold:/data/test/"
  await_struck 1
  expect "steps since the last evaluation was due" $(($(steps_done) % 50)) 0
  cancel_held 1
  clear_fault
  expect_saved 2 "during an evaluation"

  submit --nodes=2
  await is_at_step $((stopped_step + 20))
  set_fault "pread:1:1:hold:/data/train/"
  await_struck 1
  await stands_still
  cancel_held 1
  expect_saved 3 "while waiting for data" # with the read still held

  set_config checkpoint.every 25
  submit --nodes=2
  await is_at_step $((stopped_step + 20))
  set_fault "fsync:1:0:hold:.h5.tmp."
  await_struck 0
  expect "steps since the last checkpoint was due" $(($(steps_done) % 25)) 0
  cancel_held 0
  clear_fault
  expect_saved 4 "while saving a checkpoint"
  expect "step of the stop" $((stopped_step % 25)) 0

  finish_after 60
  submit --nodes=2
  await_end
  expect_finished 0
}
