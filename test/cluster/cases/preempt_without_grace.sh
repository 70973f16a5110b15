# shellcheck shell=bash
# Without a grace time Slurm requeues the job by itself, as it does for somebody's `scontrol requeue`; a job whose run
# has just finished then has nothing more to do.
# nodes: 1
# shellcheck disable=SC2016,SC2154

# The script says so after the rank has written its outcome.
has_said_so_twice() { [[ $(grep -c '^lockstep: job.*Slurm has requeued the job itself$' "$work/lockstep-$job.out") -eq 2 ]]; }
has_restarts() { [[ $(job_field "$job" Restarts) == "$1" ]]; }
is_ending() { [[ $(job_field "$job" JobState) == COMPLETING ]]; }
run_case() {
  submit --partition="abrupt_$name" --nodes=1
  await is_at_step 20
  strike_now
  preempt 1
  await_stop 1 '^signal TERM'
  on_cluster scancel "$urgent"
  await has_happened resumed 1
  await is_at_step $((stopped_step + 20))
  report_recovery 2 "preempted without a grace time" "$(recovery_seconds 2)"

  strike_now
  on_cluster scontrol requeue "$job"
  await_stop 2 '^signal TERM'
  await has_said_so_twice
  hold_before '[[ $1 == requeue ]]' 2
  finish_after 60
  await test -e "$work/waiting"
  report_recovery 2 "requeued by an admin" "$(recovery_seconds 3)"

  preempt 1
  await is_ending # the script ignores TERM by now
  touch "$work/go"
  await has_restarts 3
  on_cluster scancel "$urgent"
  await_end
  expect_job COMPLETED 3 0:0
  expect_outcome 2 0 "$steps" 'steps are done'
  expect_outcome 3 0 "$steps" 'were done before$'
  expect_undisturbed "$steps"
  report_recovery 2 "preempted without a grace time when all is done" -
}
