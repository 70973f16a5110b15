# shellcheck shell=bash
# USR1 from the user: save, leave, requeue.
# nodes: 1
# shellcheck disable=SC2154

run_case() {
  submit --nodes=1
  await is_at_step 20
  on_cluster scancel --signal=USR1 "$job"
  await_stop 1 '^signal USR1'
  finish_after 60
  await_end
  expect_finished 1
}
