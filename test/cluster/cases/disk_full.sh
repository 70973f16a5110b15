# shellcheck shell=bash
# The disk of the run folder fills up: training goes on without checkpoints, and makes them again when there is room.
# A job that has to go while the disk is full starts again from the last good checkpoint.
# nodes: 1
# shellcheck disable=SC2034,SC2154

says() { grep -qE "$1" "$work/lockstep-$job.out"; }
fill() { dd if=/dev/zero of="$work/disk/ballast" bs=64K 2>/dev/null || true; }
run_case() {
  local last before
  mkdir "$work/disk"
  mount -t tmpfs -o "size=4m,uid=$(id -u "$LOCKSTEP_CLUSTER_USER")" tmpfs "$work/disk"
  run=$work/disk/run
  # A mounted tmpfs would stay behind, and hold the cluster's folder.
  trap 'tell_of_failure_on_disk' EXIT
  set_config run.dir disk/run
  set_config checkpoint.every 25

  submit --nodes=1
  await has_happened saved 1
  fill
  await says 'warning: the checkpoint of step [0-9]+ failed: .*(No space left on device|make room)'
  await says 'metrics.csv cannot be written: its rows wait in memory'
  strike_now
  rm "$work/disk/ballast"
  await has_happened "save failed" 1
  saved_last() { [[ $(tail -n 1 "$run/events.csv") == *,saved,* ]]; }
  await saved_last
  expect_match "order of events" "$(awk -F, '{ printf "%s,", $3 }' "$run/events.csv")" 'started,(saved,)+(save failed,)+saved,'
  report_recovery 9 "disk full: training goes on" \
    "$(awk -v a="$struck_at" -v b="$(awk -F, '$3 == "save failed" { failed = 1 } failed && $3 == "saved" { print $2; exit }' "$run/events.csv")" 'BEGIN { printf "%.1f\n", b - a }')"

  failures() { grep -c 'warning: the checkpoint of step' "$work/lockstep-$job.out"; }
  before=$(failures)
  fill
  more_failures() { (($(failures) > before)); }
  await more_failures # a save that had its room already is over then
  last=$(basename "$(find "$run/checkpoints" -name 'step-*.h5' | sort | tail -n 1)")
  strike_now
  on_cluster scancel --signal=USR1 "$job"
  await is_requeued "$job" 1
  says 'the last checkpoint, of step [0-9]+, could not be written' || expect "what the job says" "nothing" "that it could not save"
  rm "$work/disk/ballast"
  finish_after 60
  await has_happened resumed 1
  expect "resumed from" "step-$(printf %08d "$(event resumed 1 1)").h5" "$last"
  await is_at_step $(($(event resumed 1 1) + 1))
  report_recovery 9 "disk full when the job has to go" "$(recovery_seconds 2)"
  await_end
  expect_finished 1
}

tell_of_failure_on_disk() {
  local code=$?
  ((code == 0)) || wrong=1
  (tell_of_failure) || code=1
  umount -l "$work/disk"
  exit "$code"
}
