# shellcheck shell=bash
# A wrong configuration ends the job before any rank starts; it is not requeued.
# nodes: 1
# shellcheck disable=SC2154

run_case() {
  echo 'train.stepz = 5' >>"$work/run.conf"
  submit --nodes=1
  await_end
  expect_job FAILED 0 78:0
  expect_match "what the job says" "$(cat "$work/lockstep-$job.out")" 'run.conf:[0-9]*: unknown key train.stepz; did you mean train.steps'
  [[ ! -e $run ]] || expect "run folder" "$run" "none"
}
