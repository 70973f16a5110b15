# shellcheck shell=bash
# A node falls silent while its rank 0 is about to rename a checkpoint. Slurm gives the node up and restarts the job
# elsewhere; when the old rank 0 comes to itself, it publishes nothing, removes nothing, and says why.
# nodes: 2
# starts first: Slurm takes its time to give a node up
# ruins: its nodes
# shellcheck disable=SC2154

is_gone() { [[ $(process_start "$1") != "$2" ]]; }

# Daemon, step daemons, batch script, srun: whatever could tell of the node, or end the rank.
silence() {
  local pid node=$1 rank=$2
  for pid in $(running_daemons "$cluster" | sed -n "s/^$node //p") $(step_daemons "$node") \
    $(scontrol listpids "$job" "$node" | awk '$1 ~ /^[0-9]+$/ { print $1 }'); do
    [[ $pid == "$rank" ]] || echo "$pid"
  done
}

run_case() {
  local node rank start others last
  set_config checkpoint.every 25
  # The word of a rank whose step daemon is silent is heard in a file of its own.
  echo "[[ \${SLURM_RESTART_COUNT:-0} != 0 ]] || ! is_rank \"\$@\" || exec 2>late" >"$work/before"
  submit --nodes=1
  await is_at_step 30
  node=$(job_field "$job" NodeList)
  rank=$(rank_pid 0)
  start=$(process_start "$rank")
  set_fault "rename:1:0:hold:.h5.tmp."
  await_struck 0
  last=$(find "$run/checkpoints" -name 'step-*.h5' | sort | tail -n 1)
  mapfile -t others < <(silence "$node" "$rank")
  ((${#others[@]} >= 4)) || give_up "want slurmd, its step daemons and the batch script on $node, found: ${others[*]}"
  # The next attempt makes no checkpoint on its way: one more than its last would be the old attempt's.
  set_config checkpoint.every 0
  finish_after 100
  strike_now
  kill -STOP "${others[@]}"

  await has_happened resumed 1
  ! is_gone "$rank" "$start" || give_up "the old rank 0 has not waited"
  expect "resumed from" "$(checkpoint_of "$(event resumed 1 1)")" "$last"
  clear_fault
  await is_gone "$rank" "$start"
  kill -KILL "${others[@]}"
  expect_match "what the old rank 0 says" "$(cat "$work/late")" \
    "run folder run now belongs to job $job \(restart 1, on n[0-9]+\): this attempt leaves it alone"
  expect "code of the old attempt" "$(outcome 0 code)" 73
  await_end
  expect_match "restarts" "$(job_field "$job" Restarts)" 1
  report_recovery 6 "a node falls silent and comes back while it publishes a checkpoint" "$(recovery_seconds 2)"
  expect_finished 1
  expect "checkpoints" "$(find "$run/checkpoints" -type f -printf '%f\n' | sort | xargs)" \
    "$(basename "$last") $(basename "$(checkpoint_of "$steps")")"
}
