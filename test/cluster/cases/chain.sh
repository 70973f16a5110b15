# shellcheck shell=bash
# A dependency chain: the preempted job submits its successor, the finished one none; no job is ever requeued.
# nodes: 2
# shellcheck disable=SC2154

run_case() {
  local first
  # shellcheck disable=SC2016 # the hook's
  echo 'run.hook = echo "$LOCKSTEP_EVENT $LOCKSTEP_JOB" >>told' >>"$work/run.conf"
  submit_script chain.sbatch --job-name=mine --time=7 -- run.conf
  first=$job
  await is_at_step 20
  preempt 1
  await_stop 1 '^signal TERM'
  finish_after 60
  await has_happened requeued 1
  [[ $(event requeued 1 4) =~ \ goes\ on\ as\ job\ ([0-9]+)$ ]] || give_up "no successor: $(event requeued 1 4)"
  job=${BASH_REMATCH[1]}
  on_cluster scancel "$urgent" # this script wants two nodes
  await_end
  expect "its name" "$(job_field "$job" JobName)" mine
  expect "its time limit" "$(job_field "$job" TimeLimit)" 00:07:00
  expect "restarts of the first" "$(job_field "$first" Restarts)" 0
  expect "step resumed from" "$(event resumed 1 1)" "$stopped_step"
  expect_match "the attempt that resumed" "$(event resumed 1 4)" "; job $job restart 0; [0-9.]+ s after it stopped$"
  expect_finished 0
  expect "what the hook was told" "$(grep -v local- "$work/told" | xargs)" \
    "start $first stop $first requeue $first resume $job finish $job"
  expect "jobs of the chain" "$(grep -c ' Name=mine ' "$cluster/log/jobcomp.txt")" 2
}
