# shellcheck shell=bash
# Preempted in an evaluation, while a rank waits for data, during the final save, and after it. In each phase one rank
# is held at a call that belongs to this phase alone until the signal has come.
# nodes: 2
# starts first: two requeues and two jobs in a row
# shellcheck disable=SC2154

preempt_held() { # RANK
  strike_now
  preempt 1
  await_told_to_stop "$1"
}

run_case() {
  submit --nodes=2
  await is_at_step 20
  set_fault "pread:1:1:hold:/data/test/"
  await_struck 1
  preempt_held 1
  expect "steps since the last evaluation was due" $(($(steps_done) % 50)) 0
  expect "evaluations after step $(steps_done)" "$(grep -c "^$(steps_done)," "$run/eval.csv")" 0
  clear_fault
  await_stop 1 '^signal TERM on . of 2 ranks'
  on_cluster scancel "$urgent"
  await has_happened resumed 1
  await is_at_step $((stopped_step + 20))
  report_recovery 2 "preempted during an evaluation" "$(recovery_seconds 2)"

  # The read does not return: all must leave without these samples.
  set_fault "pread:1:1:hold:/data/train/"
  await_struck 1
  await stands_still
  preempt_held 1
  await_stop 2 '^signal TERM on . of 2 ranks'
  steps=$(((stopped_step / 50 + 2) * 50))
  set_config train.steps "$steps"
  set_fault "fsync:1:0:hold:step-$(printf %08d "$steps").h5"
  on_cluster scancel "$urgent"

  await_struck 0
  report_recovery 2 "preempted while waiting for data" "$(recovery_seconds 3)"
  preempt_held 0
  clear_fault
  await_end
  on_cluster scancel "$urgent"
  expect_job COMPLETED 2 0:0
  expect_outcome 2 0 "$steps" 'steps are done'
  expect_intact "$steps"
  report_recovery 2 "preempted during the final save" -

  steps=$((steps + 50))
  set_config train.steps "$steps"
  set_fault "fsync:1:0:hold:/outcome/"
  submit --nodes=2
  await_struck 0
  expect_intact "$steps"
  preempt_held 0
  clear_fault
  await_end
  report_recovery 2 "preempted after the final save" -
  expect_finished 0
}
