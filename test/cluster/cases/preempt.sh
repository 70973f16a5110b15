# shellcheck shell=bash
# Preempted on 4 nodes, goes on on 2 while the urgent job still holds the others.
# nodes: 4
# shellcheck disable=SC2154

run_case() {
  submit --nodes=2-4
  await is_at_step 20
  strike_now
  preempt 2
  await_stop 1 '^signal TERM'
  finish_after 60
  await has_happened resumed 1
  expect "state of the urgent job" "$(job_field "$urgent" JobState)" RUNNING
  await_end
  report_recovery 2 "preempted in a step, 4 nodes become 2" "$(recovery_seconds 2)"
  expect_match "first attempt" "$(event started 1 4)" '^4 ranks'
  expect_match "second attempt" "$(event resumed 1 4)" '^2 ranks; .*; [0-9.]+ s after it stopped$'
  expect_match "signal" "$(event signal 1 4)" '^TERM to rank [0-3] on n[0-9]+'
  expect "requeues that are told" "$(count_events requeued)" 1
  expect_match "status" "$(lockstep status "$run")" ': finished, all [0-9]+ steps are done'
  expect "step resumed from" "$(event resumed 1 1)" "$stopped_step"
  expect "stops" "$(count_events stopped)" 1
  expect_finished 1
}
