# shellcheck shell=bash
# Preempted before the first step, while one rank waits for the other in MPI's start-up.
# nodes: 2
# shellcheck disable=SC2154

run_case() {
  # In the first attempt, rank 1 comes late: not before the case says so. Only the signal of rank 0 counts then.
  mkdir "$work/bin"
  cat >"$work/bin/lockstep" <<'END'
#!/bin/bash
if [[ ${SLURM_PROCID:-0} == 1 && -z ${SLURM_RESTART_COUNT:-} ]]; then
  trap 'touch signalled' TERM
  touch waiting
  until [[ -e go ]]; do sleep 0.1; done
fi
exec "$LOCKSTEP_CLUSTER_DIR/prefix/bin/lockstep" "$@"
END
  chmod 755 "$work/bin/lockstep"
  submit --nodes=1-2 --export="ALL,PATH=$work/bin:$PATH"
  await test -e "$work/waiting"
  preempt 1
  await test -e "$work/signalled"
  touch "$work/go"
  await_stop 1 '^signal TERM on 1 of 2 ranks'
  expect "step of the stop" "$stopped_step" 0
  finish_after 60
  await_end
  expect_match "second attempt" "$(event started 2 4)" '^1 ranks'
  expect_finished 1
}
