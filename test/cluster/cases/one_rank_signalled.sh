# shellcheck shell=bash
# Only one rank gets the signal; then another one is frozen for ten seconds meanwhile. All leave at the same step.
# nodes: 2
# shellcheck disable=SC2154

is_stopped() { [[ $(ps -o stat= -p "$1") == T* ]]; }
run_case() {
  local frozen until steps_then
  submit --nodes=2
  await is_at_step 20
  strike_now
  kill -TERM "$(rank_pid 1)"
  await_stop 1 '^signal TERM on 1 of 2 ranks'
  await has_happened resumed 1
  await is_at_step $((stopped_step + 20))
  expect "step resumed from" "$(event resumed 1 1)" "$stopped_step"
  report_recovery 1 "only one rank gets the signal" "$(recovery_seconds 2)"

  frozen=$(rank_pid 0)
  kill -STOP "$frozen"
  await is_stopped "$frozen"
  steps_then=$(steps_done)
  strike_now
  until=$((EPOCHSECONDS + 10))
  kill -TERM "$(rank_pid 1)"
  await is_past "$until"
  is_stopped "$frozen" || give_up "rank 0 is not frozen any more"
  expect "steps while rank 0 is frozen" "$(steps_done)" "$steps_then"
  kill -CONT "$frozen"
  await_stop 2 '^signal TERM on 1 of 2 ranks'
  finish_after 60
  await_end
  expect "step resumed from" "$(event resumed 2 1)" "$stopped_step"
  report_recovery 1 "one rank is frozen 10 s while another gets the signal" "$(recovery_seconds 3)"
  expect_finished 2
}
