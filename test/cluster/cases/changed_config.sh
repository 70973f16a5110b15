# shellcheck shell=bash
# The configuration is changed between two attempts: what may change is taken over and told; what would make it another
# run ends the job with the difference, without a requeue, and with everything as it was.
# nodes: 1
# shellcheck disable=SC2154

run_case() {
  local said before
  printf '%s\n' 'optim.lr = 0.05' 'run.seed = 1' >>"$work/run.conf"
  submit --nodes=1
  await is_at_step 20
  set_config optim.lr 0.01
  on_cluster scancel --signal=USR1 "$job"
  await_stop 1 '^signal USR1'
  await has_happened resumed 1
  await is_at_step $((stopped_step + 5))
  said=$(cat "$work/lockstep-$job.out")
  expect_match "what is said of the rate" "$said" 'changed since the checkpoint: optim.lr: 0.05 in the checkpoint, 0.01 now'
  expect "rate of the last step" "$(tail -n 1 "$run/metrics.csv" | cut -d, -f6)" 0.01

  set_config run.seed 2
  on_cluster scancel --signal=USR1 "$job"
  await_stop 2 '^signal USR1'
  before=$(cd "$run" && cksum metrics.csv checkpoints/*)
  await_end
  expect_job FAILED 2 78:0
  expect_match "what is said of the seed" "$(cat "$work/lockstep-$job.out")" 'run.seed: 1 in the checkpoint, 2 now'
  expect "the run folder" "$(cd "$run" && cksum metrics.csv checkpoints/*)" "$before"
  report_recovery 11 "a key changed that may change" -
  report_recovery 11 "a key changed that makes it another run" -
}
