# shellcheck shell=bash
# Strikes of all kinds at one job, in an order that chance has chosen, for SOAK_MINUTES (30).
# nodes: 4
# long: it takes as long as it is told to
# shellcheck disable=SC2154

# Strikes wait for an attempt that trains, so that each is one of its own.
strike() {
  local attempts pid first
  attempts=$(grep -cE ',(started|resumed),' "$run/events.csv")
  strike_now
  case $1 in
    0)
      kill -KILL "$(rank_pid 0)"
      what="kill -9 of one rank"
      ;;
    1)
      for pid in "$(rank_pid 0)" "$(rank_pid 1)"; do kill -KILL "$pid"; done
      what="kill -9 of two ranks"
      ;;
    2)
      # Nodes of its own: where two are free, it would not be in the way.
      first=$(job_field "$job" BatchHost)
      preempt 2 --nodelist="$first,n$((${first#n} + 1))"
      what="preempted"
      ;;
    3)
      on_cluster scancel --signal=USR1 "$job"
      what="USR1"
      ;;
    4)
      set_fault "H5Dwrite:5:all:kill"
      await_struck 0
      clear_fault
      what="kill -9 of all ranks in a save"
      ;;
    5)
      set_fault "fsync:1:0:kill:.h5.tmp."
      await_struck 0
      clear_fault
      what="kill -9 of rank 0 before a checkpoint is published"
      ;;
  esac
  more_attempts() { (($(grep -cE ',(started|resumed),' "$run/events.csv") > attempts)); }
  await more_attempts
  [[ $1 != 2 ]] || on_cluster scancel "$urgent"
  await has_trained
  report_recovery 13 "chance: $what" "$(recovery_seconds $((attempts + 1)))"
}
# Past a new checkpoint, in the present attempt.
has_trained() { [[ $(tail -n 1 "$run/events.csv") == *,saved,* ]]; }

run_case() {
  local end=$((SECONDS + 60 * ${SOAK_MINUTES:-30})) strikes=0 what=''
  local seed=${SOAK_SEED:-$$}
  RANDOM=$seed
  echo "SOAK_SEED=$seed makes the same strikes"
  set_config checkpoint.every 20
  submit --nodes=2-4
  await has_happened saved 1
  while ((SECONDS < end)); do
    strike $((RANDOM % 6))
    strikes=$((strikes + 1))
  done
  finish_after 60
  on_cluster scancel --signal=USR1 "$job"
  await_end
  printf '%d strikes, %d steps\n' "$strikes" "$steps"
  expect_finished "$(job_field "$job" Restarts)"
  expect "left in the nodes' folders for temporary files" \
    "$(find "$cluster"/tmp/n*/ -mindepth 1 -name 'vader*')" ""
}
