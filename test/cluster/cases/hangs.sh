# shellcheck shell=bash
# A rank hangs in a step, in an evaluation, in a collective write and in start-up: each time it is named, with node and
# phase, all leave within the limit, and the job goes on from its last checkpoint.
# nodes: 2
# starts first: four hangs, each for its whole limit
# shellcheck disable=SC2154

limit=8 # seconds; start-up has its own

# expect_hang N PHASE [OTHERS]: of attempt N (from 1), whose rank 1 has just been struck.
expect_hang() {
  local node=n$((${first_node[$name]} + 1))
  await is_requeued "$job" "$1"
  expect "code of attempt $1" "$(outcome $(($1 - 1)) code)" 76
  expect_match "reason of attempt $1" "$(outcome $(($1 - 1)) reason)" \
    "^no progress in $2 for $limit s: ${3:-}rank 1 on $node is still in $2$"
}
# expect_gone_on N PHASE: attempt N + 1 trains.
expect_gone_on() {
  await has_happened resumed "$1"
  await is_at_step $(($(event resumed "$1" 1) + 1))
  report_recovery 7 "a rank hangs in $2" "$(recovery_seconds $(($1 + 1)))"
}

run_case() {
  printf 'limits.%s = 600\n' start step eval checkpoint >>"$work/run.conf"
  set_config checkpoint.every 25
  set_config limits.step "$limit"
  set_config limits.eval "$limit"
  set_config limits.checkpoint "$limit"

  submit --nodes=2
  await is_at_step 30
  strike_now
  set_fault "pread:1:1:stall:/data/train/"
  await_struck 1
  clear_fault
  expect_hang 1 'step [0-9]+'
  expect_gone_on 1 "a step"

  strike_now
  set_fault "pread:1:1:stall:/data/test/"
  await_struck 1
  clear_fault
  expect_hang 2 'the evaluation after step [0-9]*[05]0'
  expect_gone_on 2 "an evaluation"

  # Past the checkpoint after that evaluation: three failures in a row without a new one are all that is allowed.
  await has_happened saved 2
  strike_now
  set_fault "H5Dwrite:1:1:stall"
  await_struck 1
  # The next attempt shall hang before its first step. This one has long read its configuration.
  set_config limits.start "$limit"
  set_fault "pread:1:1:stall:/checkpoints/"
  # Ranks that wait inside HDF5's call look no different.
  expect_hang 3 'the checkpoint of step [0-9]*[0257][05]' '(rank 0 on n[0-9]+ is still in the checkpoint of step [0-9]+; )?'
  await_struck 1
  set_config limits.start 600
  clear_fault
  finish_after 60
  expect_hang 4 'start-up'
  expect_gone_on 3 "a collective write, then in start-up"

  await_end
  expect "attempts that left an orderly stop" "$(count_events stopped)" 0
  expect_finished 4
}
