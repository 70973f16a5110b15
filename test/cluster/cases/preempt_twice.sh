# shellcheck shell=bash
# Two preemptions in a row, by two urgent jobs.
# nodes: 2
# shellcheck disable=SC2154

run_case() {
  local first_urgent
  submit --nodes=1-2
  await is_at_step 20
  preempt 1
  first_urgent=$urgent
  await_stop 1 '^signal TERM'
  await has_happened resumed 1
  await is_at_step $((stopped_step + 20))
  preempt 1
  await_stop 2 '^signal TERM'
  finish_after 60
  on_cluster scancel "$first_urgent"
  await_end
  expect "step resumed from" "$(event resumed 2 1)" "$stopped_step"
  expect "stops" "$(count_events stopped)" 2
  expect_finished 2
}
