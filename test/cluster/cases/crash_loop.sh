# shellcheck shell=bash
# A run that is killed again and again before it has a new checkpoint is given up, in words; nothing is lost or left
# behind, and once the reason is gone, a new job finishes it.
# nodes: 1
# starts first: three requeues in a row
# shellcheck disable=SC2034,SC2154

# Slurm's own folder for the PMIx server of a step it removes itself, or not.
left_behind() { find "$cluster/tmp/n${first_node[$name]}" -mindepth 1 ! -path '*/spmix_appdir*'; }
run_case() {
  set_config checkpoint.every 25
  submit --nodes=1
  await is_at_step 30
  set_fault "pread:1:0:kill:/data/train/"
  await_end
  expect_job FAILED 3 70:0
  expect_match "the last line" "$(tail -n 1 "$work/lockstep-$job.out")" \
    '^lockstep: job .* not requeued: failure 4 in a row without a new checkpoint$'
  expect "stops" "$(count_events stopped)" 0
  expect "left in the node's folder for temporary files" "$(left_behind)" ""
  lockstep checkpoint verify "$(find "$run/checkpoints" -name 'step-*.h5' | sort | tail -n 1)" || wrong=1
  report_recovery 8 "killed in each attempt before a new checkpoint" -

  clear_fault
  finish_after 60
  submit --nodes=1
  await_end
  expect_finished 0
}
