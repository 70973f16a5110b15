# shellcheck shell=bash
# A node dies with everything on it: the run goes on on the other one, from the last checkpoint.
# nodes: 2
# starts first: Slurm takes its time to give a node up
# ruins: its nodes
# shellcheck disable=SC2154

run_case() {
  local node=n$((${first_node[$name]} + 1)) victims
  set_config checkpoint.every 25
  submit --nodes=1-2
  await is_at_step 60
  mapfile -t victims < <(pids_on "$node")
  ((${#victims[@]} == 3)) || give_up "want slurmd, its step daemon and rank 1 on $node, found: ${victims[*]}"
  strike_now
  kill -KILL "${victims[@]}"
  finish_after 60
  await_end
  report_recovery 6 "a node dies" "$(recovery_seconds 2)"
  expect_match "second attempt" "$(event resumed 1 4)" '^1 ranks'
  expect "resumed from a checkpoint" "$(($(event resumed 1 1) % 25))" 0
  expect "attempts that left an orderly stop" "$(count_events stopped)" 0
  expect_match "restarts" "$(job_field "$job" Restarts)" '^[1-9]'
  expect_finished "$(job_field "$job" Restarts)"
}

# The node's daemon first: it would tell of the death of the others.
pids_on() {
  running_daemons "$cluster" | sed -n "s/^$1 //p"
  step_daemons "$1"
  scontrol listpids "$job.0" "$1" | awk '$5 == 1 { print $1 }'
}
