# shellcheck shell=bash
# A run that cannot learn the end of its time gets Slurm's own TERM at the limit: saved within KillWait, and requeued.
# nodes: 1
# starts first: it waits for the end of a minute, which Slurm enforces up to 30 s late
# long: it takes two minutes
# shellcheck disable=SC2154

run_case() {
  mkdir "$work/mute"
  printf '#!/bin/sh\necho "squeue: not for compute nodes" >&2\nexit 1\n' >"$work/mute/squeue"
  chmod 755 "$work/mute/squeue"
  echo "PATH=$work/mute:\$PATH" >"$work/before"
  submit --nodes=1 --time=1
  await_stop 1 '^signal TERM'
  strike_now
  expect_match "what the job says" "$(cat "$work/lockstep-$job.out")" 'DUE TO TIME LIMIT'
  finish_after 60
  await_end
  report_recovery 3 "ended by Slurm at the time limit" "$(recovery_seconds 2)"
  expect_finished 1
}
