# shellcheck shell=bash
# Two jobs begin to use one run folder in the same moment: one gets it, the other is refused and harms nothing.
# nodes: 2
# shellcheck disable=SC2154

run_case() {
  local jobs=() loser
  cat >"$work/before" <<'END'
if is_rank "$@"; then
  touch "waiting.$SLURM_JOB_ID"
  until [[ -e go ]]; do sleep 0.05; done
fi
END
  for _ in 1 2; do
    submit --nodes=1
    jobs+=("$job")
    await test -e "$work/waiting.$job"
  done
  touch "$work/go"
  one_has_ended() { has_ended "${jobs[0]}" || has_ended "${jobs[1]}"; }
  await one_has_ended
  loser=${jobs[0]} job=${jobs[1]}
  ! has_ended "${jobs[1]}" || loser=${jobs[1]} job=${jobs[0]}
  expect "state of the one" "$(job_field "$job" JobState)" RUNNING
  expect "state of the other" "$(job_field "$loser" JobState) $(job_field "$loser" ExitCode)" "FAILED 73:0"
  expect_match "what the other says" "$(cat "$work/lockstep-$loser.out")" "in use by job $job on n"
  report_recovery 12 "two jobs that start in the same moment" -
  await is_at_step 10
  on_cluster scancel "$job"
  await_stop 1 '^signal TERM'
  await_end
  expect_undisturbed "$stopped_step"
}
