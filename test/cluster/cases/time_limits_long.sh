# shellcheck shell=bash
# Limits of two minutes, of two that become three while the job runs, and of five: each time saved before the true end.
# nodes: 1
# starts first: it waits for the ends of ten minutes
# long: limits of 2 and 5 minutes
# shellcheck disable=SC2034,SC2154

max_seconds=400

# expect_stop N EVENT: the N-th attempt stops by itself, before its end and not much too early.
expect_stop() {
  local end=$((EPOCHSECONDS + 60))
  until has_happened stopped "$1"; do
    [[ $(job_field "$job" JobState) != RUNNING ]] || end=$(date -d "$(job_field "$job" EndTime)" +%s)
    ! is_past $((end + 60)) || give_up "attempt $1 did not stop"
    sleep 0.5
  done
  await_stop "$1" '^the time limit is near$'
  struck_at=$(event stopped "$1" 2)
  expect_match "seconds left at the stop" "$(awk -v a="$struck_at" -v b="$end" 'BEGIN { printf "%d", b - a }')" '^([1-9]|[12][0-9])$'
  await has_happened resumed "$1"
  await is_at_step $((stopped_step + 1))
  report_recovery 3 "$2" "$(recovery_seconds $(($1 + 1)))"
}

run_case() {
  submit --nodes=1 --time=2
  await is_at_step 1
  expect_stop 1 "time limit of 2 minutes"
  await is_at_step $((stopped_step + 20))
  scontrol update jobid="$job" timelimit=3
  expect_stop 2 "limit extended from 2 to 3 minutes"
  on_cluster scancel --signal=USR1 "$job"
  await_stop 3 '^signal USR1'
  scontrol update jobid="$job" timelimit=5
  await has_happened resumed 3
  expect_stop 4 "time limit of 5 minutes"
  finish_after 60
  await has_happened resumed 4
  on_cluster scancel --signal=USR1 "$job"
  await_end
  expect_finished "$(job_field "$job" Restarts)"
}
