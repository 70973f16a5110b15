# shellcheck shell=bash
# A sweep as a job array. The task that has the array's own id stops: it alone is requeued, and goes on in its folder.
# nodes: 2
# shellcheck disable=SC2034,SC2154

run_case() {
  local array other
  # shellcheck disable=SC2016 # the hook's
  echo 'run.hook = echo "$LOCKSTEP_EVENT" >>"told.$LOCKSTEP_JOB"' >>"$work/run.conf"
  printf '%s\n' '# two rates' 'run.conf --optim.lr=0.01' '' 'run.conf --run.dir=run' >"$work/sweep.txt"
  submit_script array.sbatch --array=0-1 --nodes=1 -- sweep.txt
  array=$job
  await is_at_step 20
  run=$work/checkpoints/sweep/0
  await is_at_step 20
  other=$(job_field "${array}_0" JobId)
  run=$work/run
  expect "id of the last task" "$(job_field "${array}_1" JobId)" "$array"
  on_cluster scancel --signal=USR1 "${array}_1"
  await_stop 1 '^signal USR1'
  finish_after 60
  await_end
  expect "restarts of the other task" "$(job_field "$other" Restarts) $(job_field "$other" JobState)" '0 RUNNING'
  expect_finished 1
  expect "what the hook was told" "$(xargs <"$work/told.$array")" 'start stop requeue resume finish'
  run=$work/checkpoints/sweep/0 job=$other
  expect "stops of the other task" "$(count_events stopped)" 0
  on_cluster scancel "${array}_0"
  await_stop 1 '^signal TERM'
  await_end
  expect "requeues that are told" "$(count_events requeued)" 0
}
