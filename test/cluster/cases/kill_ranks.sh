# shellcheck shell=bash
# One rank is killed; all are; one finds no memory any more. Each time the job requeues itself and repeats only the steps
# since the last checkpoint; nothing of the failed attempt stays, and no node is drained.
# nodes: 2
# starts first: three requeues in a row
# shellcheck disable=SC2154

# What runs on the nodes for the present attempt: ranks, batch script, their step daemons.
attempt_pids() {
  local pid pids
  mapfile -t pids < <(for node in 0 1; do scontrol listpids "$job" "n$((${first_node[$name]} + node))"; done |
    awk '$1 ~ /^[0-9]+$/ { print $1 }')
  for pid in "${pids[@]}"; do printf '%s %s\n' "$pid" "$(process_start "$pid")"; done
}
none_left() {
  local pid start
  while read -r pid start; do
    [[ $(process_start "$pid") != "$start" ]] || return 1
  done <<<"$before"
}

# expect_recovery N EVENT: after the N-th failure.
expect_recovery() {
  local said
  await none_left
  printf 'all processes were gone after %.1f s\n' "$(awk -v a="$struck_at" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')"
  await is_requeued "$job" "$1"
  said=$(grep '^lockstep: job' "$work/lockstep-$job.out")
  expect "lines of requeues" "$(grep -c ' in a row; requeueing$' <<<"$said")" "$1"
  expect "nodes that are not well" "$(sinfo -h -N -p "low_$name" -o %T | grep -cE 'drain|down|fail|not')" 0
  await has_happened resumed "$1"
  expect "resumed from a checkpoint" "$(($(event resumed "$1" 1) % 25))" 0
  await is_at_step $(($(event resumed "$1" 1) + 5))
  report_recovery 5 "$2" "$(recovery_seconds $(($1 + 1)))"
}

run_case() {
  local before pids
  set_config checkpoint.every 25
  submit --nodes=2
  await is_at_step 30
  before=$(attempt_pids)
  strike_now
  kill -KILL "$(rank_pid 1)"
  expect_recovery 1 "kill -9 of one rank"
  expect_match "outcome of the attempt" "$(outcome 0 code) $(outcome 0 reason)" \
    "^76 rank 1 on n$((${first_node[$name]} + 1)) ended without a word"

  await is_at_step $(($(event resumed 1 1) + 30))
  before=$(attempt_pids)
  pids=("$(rank_pid 0)" "$(rank_pid 1)")
  strike_now
  kill -KILL "${pids[@]}"
  expect_recovery 2 "kill -9 of all ranks"

  await is_at_step $(($(event resumed 2 1) + 30))
  before=$(attempt_pids)
  strike_now
  set_fault "MPI_Allreduce:1:1:memory"
  await_struck 1
  clear_fault
  finish_after 60
  expect_recovery 3 "out of memory in one rank"
  expect_match "outcome of the attempt without memory" "$(outcome 2 code) $(outcome 2 reason)" '^76 out of memory: ask Slurm'
  expect "attempts that left an orderly stop" "$(count_events stopped)" 0
  await_end
  expect_finished 3
}
