# shellcheck shell=bash
# A second job in the folder of a running one is refused, naming that job.
# nodes: 2
# shellcheck disable=SC2154

run_case() {
  local first
  submit --nodes=1
  first=$job
  await is_at_step 20
  submit --nodes=1
  await_end
  expect_job FAILED 0 73:0
  expect_match "what the second job says" "$(cat "$work/lockstep-$job.out")" "in use by job $first on n${first_node[$name]} "
  report_recovery 12 "a second job in the folder of a running one" -
  job=$first
  expect "state of the first job" "$(job_field "$job" JobState)" RUNNING
  on_cluster scancel "$job"
  await_stop 1 '^signal TERM'
  await_end
  expect_undisturbed "$stopped_step"
}
