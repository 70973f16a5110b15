# shellcheck shell=bash
# The same as preempt with Slurm's --signal, which many users set.
# nodes: 2
# shellcheck disable=SC2154

run_case() {
  submit --nodes=1-2 --signal=TERM@30
  await is_at_step 20
  preempt 1
  await_stop 1 '^signal TERM'
  finish_after 60
  await_end
  expect_match "first attempt" "$(event started 1 4)" '^2 ranks'
  expect_match "second attempt" "$(event resumed 1 4)" '^1 ranks'
  expect_finished 1
}
