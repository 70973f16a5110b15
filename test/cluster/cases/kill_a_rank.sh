# shellcheck shell=bash
# One rank is killed as by the kernel's out-of-memory killer: the job requeues itself and repeats only the steps
# since the last checkpoint.
# nodes: 2
# shellcheck disable=SC2154

run_case() {
  local pid node=$((${first_node[$name]} + 1))
  set_config checkpoint.every 25
  submit --nodes=2
  await is_at_step 60
  pid=$(scontrol listpids "$job.0" "n$node" | awk '$5 == 1 { print $1 }')
  kill -KILL "$pid" || give_up "there is no process of rank 1"
  finish_after 60
  await is_requeued "$job" 1
  expect "attempts that left an orderly stop" "$(count_events stopped)" 0
  expect_match "what the job says" "$(grep '^lockstep: job' "$work/lockstep-$job.out")" 'failure 1 of at most 3 in a row'
  await_end
  expect "resumed from a checkpoint" "$(($(event resumed 1 1) % 25))" 0
  expect_finished 1
}
