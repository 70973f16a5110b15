# shellcheck shell=bash
# The demo's lower rungs, without Slurm: mpirun, or else one plain process. Sourced by `run`.
# shellcheck disable=SC2034,SC2154 # set there, used here, and the other way round

training='' # pid of what was started, while it runs

as_trainer() { (cd "$work" && PATH=$prefix/bin:$PATH "$@"); }
is_live() { kill -0 "$training" 2>/dev/null; }
is_over() { ! is_live; }

stop_all() {
  [[ -z $training ]] || signal_training KILL || true
}

# start_training RANKS: in the background, output appended to that of the attempt before.
start_training() {
  local command=(lockstep train "$config")
  # As root, Open MPI wants to be told twice that this is meant.
  [[ $launcher == none ]] || command=(env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    mpirun --oversubscribe --bind-to none -n "$1" "${command[@]}")
  (cd "$work" && PATH=$prefix/bin:$PATH exec "${command[@]}") >>"$output" 2>&1 </dev/null &
  training=$!
}

# Signals what trains, mpirun's children or the plain process itself, as Slurm does: never mpirun.
signal_training() {
  local children=()
  read -ra children <"/proc/$training/task/$training/children" || true
  ((${#children[@]} > 0)) || children=("$training")
  kill "-$1" "${children[@]}"
}

finish_training() {
  local wanted=$1 code=0
  follow 240 is_over
  wait "$training" || code=$?
  training=''
  [[ $code -eq $wanted ]] || fail "the training ended with exit code $code, want $wanted"
}

start_rung() {
  before=4 after=2
  launcher=mpirun
  if command -v mpirun >/dev/null; then
    tell "So mpirun starts the training on this machine, and the demo sends the signal that Slurm would send"
  else
    tell "There is no mpirun either: one plain process trains, and the demo sends the signal that Slurm would send"
    launcher=none before=1 after=1
  fi
  mkdir -p "$work"
}

train() {
  prepare_work
  tell "Fashion-MNIST is imported: 60000 training and 10000 test images in HDF5 shards"
  output=$work/lockstep.out
  start_training "$before"
  follow 60 has_happened started
  tell "The training runs with $before rank(s)"
  follow 240 is_at_step "$preempt_at"

  tell "40 % of the steps are done. The training is told to make room: signal TERM"
  preempted_time=$EPOCHREALTIME
  signal_training TERM
  finish_training 75
  tell "All ranks finished the same step, saved step $(event stopped 1) in one HDF5 file, and left with 75: start me again"
  start_training "$after"
  follow 60 has_happened resumed
  tell "The training goes on with $after rank(s)"
  finish_training 0
  wait_note=
}
