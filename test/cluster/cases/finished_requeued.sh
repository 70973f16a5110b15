# shellcheck shell=bash
# A finished job that somebody requeues ends at once and changes nothing.
# nodes: 1
# shellcheck disable=SC2154

ended_twice() { [[ $(grep "^JobId=$job " "$cluster/log/jobcomp.txt" | grep -c ' JobState=COMPLETED ') -eq 2 ]]; }
content() { (cd "$run" && cksum metrics.csv eval.csv checkpoints/*); }
run_case() {
  local before
  finish_after 60
  submit --nodes=1
  await_end
  expect_finished 0
  before=$(content)
  on_cluster scontrol requeue "$job"
  await ended_twice
  await is_cleaned_up
  expect_job COMPLETED 1 0:0
  expect_outcome 1 0 60 'were done before$'
  expect "content of the run folder" "$(content)" "$before"
}
