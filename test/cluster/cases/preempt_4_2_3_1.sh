# shellcheck shell=bash
# Preempted again and again: 4 nodes, then 2, 3 and 1, each time as many as others have left.
# nodes: 4
# starts first: four attempts
# shellcheck disable=SC2034,SC2154

# preempt_own NODES: a more important job takes so many of the nodes that the run has now.
preempt_own() {
  local own
  own=$(on_cluster scontrol show hostnames "$(job_field "$job" NodeList)" | head -n "$1" | paste -sd,)
  preempt "$1" --nodelist="$own"
}
# goes_on_with N RANKS: the N-th time, and has made some steps.
goes_on_with() {
  await has_happened resumed "$1"
  expect_match "attempt $(($1 + 1))" "$(event resumed "$1" 4)" "^$2 ranks?;"
  expect "step resumed from" "$(event resumed "$1" 1)" "$stopped_step"
}

run_case() {
  local first_urgent
  submit_script train.sbatch --nodes=1-4 -- run.conf --optim.ema_decay=0.9 --log-hash
  await is_at_step 10
  preempt 2
  first_urgent=$urgent
  await_stop 1 '^signal TERM'
  expect_match "first attempt" "$(event started 1 4)" '^4 ranks'
  goes_on_with 1 2
  await is_at_step $((stopped_step + 10))
  on_cluster scancel "$first_urgent"
  await has_ended "$first_urgent"
  preempt_own 1
  await_stop 2 '^signal TERM'
  goes_on_with 2 3
  await is_at_step $((stopped_step + 10))
  preempt_own 2
  await_stop 3 '^signal TERM'
  finish_after 20
  goes_on_with 3 1
  await_end
  expect_job COMPLETED 3 0:0
  expect_outcome 3 0 "$steps" 'steps are done'
  expect "stops" "$(count_events stopped)" 3
  on_cluster lockstep train run.conf --optim.ema_decay=0.9 --log-hash --run.dir=whole >"$work/whole.out" 2>&1 ||
    give_up "the undisturbed run: $(tail -n 3 "$work/whole.out")"
  expect "rows in hashes.csv" "$(grep -c '' "$run/hashes.csv")" $((steps + 1))
  cmp "$run/hashes.csv" "$work/whole/hashes.csv" || wrong=1
  cmp "$run/metrics.csv" "$work/whole/metrics.csv" || wrong=1
}
