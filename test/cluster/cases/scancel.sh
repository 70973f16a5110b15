# shellcheck shell=bash
# A cancelled job saves and ends; it is never requeued.
# nodes: 2
# shellcheck disable=SC2154

run_case() {
  submit --nodes=2
  await is_at_step 20
  on_cluster scancel "$job"
  await_stop 1 '^signal TERM'
  await_end
  expect "job state" "$(job_field "$job" JobState)" CANCELLED
  expect "restarts" "$(job_field "$job" Restarts)" 0
  expect_match "the last line" "$(grep '^lockstep: job' "$work/lockstep-$job.out")" 'not requeued: the job was cancelled$'
  report_recovery 4 "cancelled in a step" -
  expect_undisturbed "$stopped_step"
}
