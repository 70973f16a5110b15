# shellcheck shell=bash
# Preempted before the first step, while one rank waits for the other in MPI's start-up.
# nodes: 2
# shellcheck disable=SC2154

run_case() {
  # Rank 1 comes late: only rank 0 has the signal then.
  submit_held 1 --nodes=1-2
  strike_now
  preempt 1
  await test -e "$work/signalled"
  touch "$work/go"
  await_stop 1 '^signal TERM on 1 of 2 ranks'
  expect "step of the stop" "$stopped_step" 0
  finish_after 60
  await_end
  report_recovery 2 "preempted before the first step" "$(recovery_seconds 2)"
  expect_match "second attempt" "$(event started 2 4)" '^1 ranks'
  expect_finished 1
}
