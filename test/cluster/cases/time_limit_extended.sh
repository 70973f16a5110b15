# shellcheck shell=bash
# An admin gives a running job more time: it trains on past its first end.
# nodes: 1
# starts first: it waits for the end of a minute
# shellcheck disable=SC2154

run_case() {
  local end
  submit_held 0 --nodes=1 --time=1
  end=$(date -d "$(job_field "$job" EndTime)" +%s)
  await is_past $((end - 30))
  touch "$work/go"
  await is_at_step 5
  scontrol update jobid="$job" timelimit=3
  expect "minute more" "$(($(date -d "$(job_field "$job" EndTime)" +%s) - end))" 120
  # As if it knew nothing, it would stop several seconds before the first end.
  await is_past $((end + 1))
  expect "stops before the first end" "$(count_events stopped)" 0
  is_at_step 6 || give_up "no step was made"
  on_cluster scancel --signal=USR1 "$job"
  await_stop 1 '^signal USR1'
  finish_after 60
  await_end
  report_recovery 3 "limit extended by an admin while running" -
  expect_finished 1
}
