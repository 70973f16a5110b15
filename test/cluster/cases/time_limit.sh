# shellcheck shell=bash
# The run sees the end of its time coming, saves and leaves before Slurm has to end it.
# nodes: 1
# starts first: it waits for the end of a minute
# shellcheck disable=SC2034,SC2154

run_case() {
  local end
  # It starts to train when a third of its minute is left: fewer steps to compare with the undisturbed run.
  submit_held 0 --nodes=1 --time=1
  end=$(date -d "$(job_field "$job" EndTime)" +%s)
  await is_past $((end - 20))
  touch "$work/go"
  await_stop 1 '^the time limit is near$'
  expect "stopped before the end" "$(awk -v a="$(event stopped 1 2)" -v b="$end" 'BEGIN { print (a < b) }')" 1
  struck_at=$(event stopped 1 2)
  finish_after 60
  await_end
  report_recovery 3 "time limit of 1 minute" "$(recovery_seconds 2)"
  expect_finished 1
}
