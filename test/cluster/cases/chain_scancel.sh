# shellcheck shell=bash
# scancel ends a chain: the job saves, and there is no other.
# nodes: 1
# shellcheck disable=SC2154

run_case() {
  submit_script chain.sbatch --nodes=1 --job-name=cancelled -- run.conf
  await is_at_step 20
  on_cluster scancel "$job"
  await_stop 1 '^signal TERM'
  await_end
  expect "job state" "$(job_field "$job" JobState)" CANCELLED
  expect "requeues that are told" "$(count_events requeued)" 0
  expect "jobs of the chain that wait" "$(on_cluster squeue --noheader --name=cancelled)" ''
  expect_undisturbed "$stopped_step"
}
