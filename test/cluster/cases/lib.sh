# shellcheck shell=bash
# What the cases share. Sourced by ../test, which sets: here, prefix, RESULTS, slot_cluster, slot_first.
#
# A case is a file that defines `run_case` and has lines for ../test:
#   # nodes: N                how many it needs, of its own
#   # starts first: WHY       it takes longer than most
#   # long: WHY               it is run by `test --long` only
#   # ruins: its nodes        no other case can run there afterwards
# Its run has no end at first (train.steps is huge), so that whatever the case does to it strikes in time on any machine;
# once it has struck, `finish_after` sets the end, and an undisturbed run of as many steps must have the same bytes
# (exact mode). Variables for a case: name, work (its folder, in which jobs start), run (the run folder), job, cluster,
# first_node[$name]. Partitions of its own: low_$name is preempted by high_$name after a grace time of 30 s,
# abrupt_$name without one.
# shellcheck disable=SC2034,SC2154 # set there, used here, and the other way round

max_seconds=150 # for one wait

give_up() {
  printf 'failed: %s\n' "$*"
  exit 1
}

# expect WHAT GOT WANTED: notes a difference and goes on; the case fails at its end.
expect() {
  [[ $2 == "$3" ]] && return
  printf 'wrong: %s: got "%s", want "%s"\n' "$1" "$2" "$3"
  wrong=1
}
expect_match() {
  [[ $2 =~ $3 ]] && return
  printf 'wrong: %s: got "%s", want something like "%s"\n' "$1" "$2" "$3"
  wrong=1
}

await() { poll_for "$max_seconds" "$@" || give_up "not within $max_seconds s: $*"; }

# The first samples of Fashion-MNIST's test split, as IDX files of their own; to evaluate on, the same once more, so
# that a path tells what a rank reads for.
make_data() {
  local folder=$cluster/data count=400 size=784 packaged
  packaged=$(dirname "$(dpkg -L dataset-fashion-mnist | grep '/t10k-images-idx3-ubyte\.gz$')")
  mkdir "$folder"
  { printf '\0\0\x08\x03\0\0\x01\x90\0\0\0\x1c\0\0\0\x1c' &&
    zcat "$packaged/t10k-images-idx3-ubyte.gz" | tail -c +17 | head -c $((count * size)); } |
    gzip -1 >"$folder/images.gz" || true # head ends zcat early
  { printf '\0\0\x08\x01\0\0\x01\x90' &&
    zcat "$packaged/t10k-labels-idx1-ubyte.gz" | tail -c +9 | head -c "$count"; } |
    gzip -1 >"$folder/labels.gz" || true
  "$cluster/prefix/bin/lockstep" data import idx --images "$folder/images.gz" --labels "$folder/labels.gz" \
    --classes 10 --shards 3 --out "$folder/train"
  cp -R "$folder/train" "$folder/test"
}

# make_tools LIBFAULT: what stands before the real program in the PATH of jobs. Ranks can be struck by set_fault, and
# take their time for a step: so many runs at once on a small machine do not get in each other's way. A file
# `before` of the case is carried out first, with the arguments of the program.
make_tools() {
  mkdir "$cluster/tools"
  cp "$1" "$cluster/tools/libfault.so"
  cat >"$cluster/tools/lockstep" <<END
#!/bin/bash
is_rank() { [[ -n \${SLURM_PROCID:-} && \$1 == train && \$* != *--check* ]]; }
[[ ! -e before ]] || source ./before
if is_rank "\$@"; then
  export LD_PRELOAD=$cluster/tools/libfault.so LOCKSTEP_FAULT=@\$PWD/fault LOCKSTEP_FAULT_MARKER=\$PWD/struck.
  export LOCKSTEP_FAULT_PACE=10
fi
exec $cluster/prefix/bin/lockstep "\$@"
END
  chmod 755 "$cluster"/tools/*
}

# set_fault FUNCTION:COUNT:RANK:ACTION[:PATH]: as in ../../fault/fault.cpp; COUNT counts from now. It may be set before
# a job is submitted and while one runs, and stays until clear_fault, which also lets a call that is held go on.
set_fault() {
  rm -f "$work"/struck.*
  printf '%s\n' "$1" >"$work/.fault"
  mv "$work/.fault" "$work/fault"
}
clear_fault() { rm -f "$work/fault"; }
await_struck() { await test -e "$work/struck.$1"; }         # RANK
await_told_to_stop() { await test -e "$work/struck.$1.term"; } # RANK: while its call is held

# set_config KEY VALUE: in the configuration of the case, in one step: a job may be reading it.
set_config() {
  sed "s|^$1 = .*|$1 = $2|" "$work/run.conf" >"$work/.run.conf"
  mv "$work/.run.conf" "$work/run.conf"
}

write_config() {
  cat >"$work/run.conf" <<END
run.dir = run
run.log_every = 1000
data.train = $cluster/data/train
data.test = $cluster/data/test
model.name = mlp
model.hidden = 64
model.dropout = 0.2
train.steps = 100000000
train.global_batch = 32
train.micro_batch = 8
train.reduction = exact
optim.clip_norm = 1
eval.every = 50
eval.batch = 50
checkpoint.every = 0
END
}

on_cluster() { "$here/run" "$cluster" env -C "$name" "$@"; }

# submit_script SCRIPT [SBATCH OPTION...] -- ARGUMENT...: a batch script that users copy, unmodified. Sets job.
submit_script() {
  local script=$cluster/prefix/share/lockstep/sbatch/$1 options=()
  shift
  while [[ $1 != -- ]]; do options+=("$1") && shift; done
  job=$(on_cluster sbatch --parsable --partition="low_$name" --export="ALL,PATH=$cluster/tools:$PATH" \
    "${options[@]}" "$script" "${@:2}") || give_up "sbatch"
}
# submit [SBATCH OPTION...]: the one that most take.
submit() { submit_script train.sbatch "$@" -- run.conf; }

# hold_before CONDITION [RESTART]: in the attempt after so many restarts (0) the program does not start where CONDITION
# is true, before the file `go` exists; that it got there, and that TERM came meanwhile, is told by the files
# `waiting` and `signalled`.
hold_before() {
  rm -f "$work"/{go,waiting,signalled}
  cat >"$work/before" <<END
if [[ \${SLURM_RESTART_COUNT:-0} == ${2:-0} ]] && $1; then
  trap 'touch signalled' TERM
  touch waiting
  until [[ -e go ]]; do sleep 0.1; done
fi
END
}
# submit_held RANK [SBATCH OPTION...]: in the first attempt this rank does not start before the file `go` exists.
submit_held() {
  hold_before "is_rank \"\$@\" && [[ \$SLURM_PROCID == $1 ]]"
  submit "${@:2}"
  await test -e "$work/waiting"
}

# preempt NODES [SBATCH OPTION...]: a more important job takes so many nodes, until the end. Sets urgent.
preempt() {
  urgent=$(on_cluster sbatch --parsable --partition="high_$name" --nodes="$1" --ntasks-per-node=1 "${@:2}" \
    --job-name=urgent --output=/dev/null --wrap='exec sleep infinity') || give_up "sbatch of the urgent job"
}

# rank_pid RANK: the process of a rank of the job's present attempt.
rank_pid() {
  local i pid
  for ((i = first_node[$name]; i < first_node[$name] + $(tag "$name" nodes); ++i)); do
    pid=$(scontrol listpids "$job.0" "n$i" 2>/dev/null | awk -v rank="$1" '$5 == rank { print $1; exit }')
    [[ -z $pid ]] || { printf '%s\n' "$pid" && return; }
  done
  give_up "there is no process of rank $1"
}

# step_daemons NODE: the pids of Slurm's step daemons there.
step_daemons() {
  local pid
  for pid in /proc/[0-9]*; do
    pid=${pid#/proc/}
    [[ $(readlink "/proc/$pid/exe") == */slurmstepd* ]] &&
      find "/proc/$pid/fd" -lname "$cluster/log/$1.log" -print -quit | grep -q . && echo "$pid"
  done 2>/dev/null
  return 0
}

steps_done() {
  local lines
  lines=$(grep -c '' "$run/metrics.csv" 2>/dev/null) || lines=1
  printf '%d\n' "$((lines - 1))"
}
is_at_step() { (($(steps_done) >= $1)); }
stands_still() { # for two seconds
  local before
  before=$(steps_done)
  sleep 2
  (($(steps_done) == before))
}
is_past() { ((EPOCHSECONDS >= $1)); }

# event NAME N FIELD: a field (1: step, 2: time, 4: detail) of the N-th such event; fails until there is one.
event() {
  awk -F, -v name="$1" -v n="$2" -v field="$3" '$3 == name && ++seen == n { print $field; found = 1; exit }
    END { exit !found }' "$run/events.csv" 2>/dev/null
}
has_happened() { event "$1" "$2" 1 >/dev/null; }
count_events() { grep -c ",$1," "$run/events.csv"; }

# job_field JOB KEY: what Slurm says about a job, as JobState or NodeList.
job_field() {
  local text
  text=" $(scontrol --oneliner show job "$1")" || return
  text=${text#* "$2"=}
  printf '%s\n' "${text%% *}"
}
# Slurm's log of ends and requeues: asking it costs nothing while many cases wait.
has_ended() {
  grep "^JobId=$1 " "$cluster/log/jobcomp.txt" 2>/dev/null | grep -qvE ' JobState=(PENDING|NODE_FAIL|PREEMPTED|TIMEOUT) '
}
is_requeued() { [[ $(grep -c "^JobId=$1 .* JobState=PENDING " "$cluster/log/jobcomp.txt") -ge $2 ]]; }
is_cleaned_up() { [[ $(job_field "$job" JobState) != COMPLETING ]]; }
await_end() { await has_ended "$job" && await is_cleaned_up; }

outcome() { sed -n "s/^$2=//p" "$run/outcome/$job.$1" 2>/dev/null; }
expect_outcome() { # RESTART CODE STEP REASON
  expect "code of outcome $1" "$(outcome "$1" code)" "$2"
  expect "step of outcome $1" "$(outcome "$1" step)" "$3"
  expect_match "reason of outcome $1" "$(outcome "$1" reason)" "$4"
}

expect_job() { # STATE RESTARTS EXIT_CODE
  expect "job state" "$(job_field "$job" JobState)" "$1"
  expect "restarts" "$(job_field "$job" Restarts)" "$2"
  expect "exit code" "$(job_field "$job" ExitCode)" "$3"
}

# await_stop N CAUSE: the N-th stop of the run (from 1), saved at the step that it tells. Sets stopped_step.
await_stop() {
  await has_happened stopped "$1"
  stopped_step=$(event stopped "$1" 1)
  expect_match "cause of stop $1" "$(event stopped "$1" 4)" "$2"
  await test -e "$run/outcome/$job.$(($1 - 1))"
  expect_outcome $(($1 - 1)) 75 "$stopped_step" "$2"
  [[ $stopped_step -eq 0 ]] || expect_intact "$stopped_step"
}

checkpoint_of() { printf '%s/checkpoints/step-%08d.h5\n' "$run" "$1"; }
expect_intact() { lockstep checkpoint verify "$(checkpoint_of "$1")" || wrong=1; }

# finish_after STEPS: the run shall end so many steps after what it has done. Sets steps.
finish_after() {
  steps=$(($(steps_done) + $1))
  set_config train.steps "$steps"
}

# The moment of the event that a case is about: call it right before the stop, the kill or the order to Slurm.
strike_now() { struck_at=$EPOCHREALTIME; }

# report_recovery ROW EVENT SECONDS: a line "row|event|seconds" in the file RESULTS, of which the table in
# docs/reliability.md is made. ROW is the number of the row in the failure matrix; SECONDS is the time from the event
# to the first step done after it (see recovery_seconds), or - where the run rightly does not go on.
report_recovery() { printf '%s|%s|%s\n' "$1" "$2" "$3" >>"$RESULTS"; }

# recovery_seconds N: seconds from strike_now to the end of the first step of attempt N (from 1). Call it before
# another attempt has repeated that step.
recovery_seconds() {
  local start step seconds
  read -r step start < <(awk -F, '$3 == "started" || $3 == "resumed" { print $1, $2 }' "$run/events.csv" | sed -n "$1p")
  [[ -n $start ]] || give_up "recovery_seconds: there is no attempt $1"
  seconds=$(awk -F, -v step=$((step + 1)) '$1 == step { print $2 }' "$run/timings.csv")
  awk -v from="$struck_at" -v start="$start" -v step="$seconds" 'BEGIN { printf "%.1f\n", start + step - from }'
}

# The end of a run that was disturbed: finished after `steps` steps, each done once, with the very bytes of a
# run in one process that nobody disturbed.
expect_finished() { # RESTARTS
  expect_job COMPLETED "$1" 0:0
  expect_outcome "$1" 0 "$steps" 'steps are done'
  expect_undisturbed "$steps"
  cmp "$run/eval.csv" "$work/undisturbed/eval.csv" || wrong=1
}
# A run that was stopped has not made the evaluation that is due after its last step.
expect_undisturbed() { # STEPS
  local file lines=$((($1 - 1) / 50 + 1))
  expect "rows in metrics.csv" "$(steps_done)" "$1"
  awk -F, 'NR > 1 && $1 != NR - 1 { exit 1 }' "$run/metrics.csv" || {
    echo "wrong: metrics.csv does not hold each step once" && wrong=1
  }
  set_config train.steps "$1"
  on_cluster lockstep train run.conf --run.dir=undisturbed >"$work/undisturbed.out" 2>&1 ||
    give_up "the undisturbed run: $(tail -n 3 "$work/undisturbed.out")"
  cmp "$run/metrics.csv" "$work/undisturbed/metrics.csv" || wrong=1
  cmp <(head -n "$lines" "$run/eval.csv") <(head -n "$lines" "$work/undisturbed/eval.csv") || wrong=1
  for file in model optimizer; do
    h5diff "$(checkpoint_of "$1")" "$work/undisturbed/checkpoints/$(basename "$(checkpoint_of "$1")")" "/$file" || {
      echo "wrong: the last checkpoint's /$file differs" && wrong=1
    }
  done
}

# run_one CASE SLOT: in a subshell of its own; fails where anything was wrong.
run_one() {
  declare -gA first_node=(["$1"]="${slot_first[$2]}")
  name=$1 cluster=${slot_cluster[$2]} wrong=0 job=''
  work=$cluster/work/$1
  run=$work/run
  # shellcheck source=/dev/null
  source "$cluster/env"
  install -d -o "$LOCKSTEP_CLUSTER_USER" "$work"
  write_config
  # shellcheck source=/dev/null
  source "$here/cases/$name.sh"
  make_partitions "$(tag "$name" nodes)"
  trap 'tell_of_failure; free_nodes' EXIT
  run_case
  ((wrong == 0))
}

make_partitions() { # NODES
  local first=${first_node[$name]} on
  on="nodes=n[$first-$((first + $1 - 1))] defaulttime=30 maxtime=infinite"
  # shellcheck disable=SC2086 # several words
  {
    scontrol create partitionname="low_$name" $on prioritytier=1 preemptmode=requeue gracetime=30
    scontrol create partitionname="abrupt_$name" $on prioritytier=1 preemptmode=requeue gracetime=0
    scontrol create partitionname="high_$name" $on prioritytier=10 preemptmode=off
  } || give_up "scontrol create"
}
# Nothing may be left of this case where the next one runs.
free_nodes() {
  local kind
  for kind in low abrupt high; do scancel --partition="${kind}_$name"; done
  poll_for 30 nodes_are_idle || echo "after 30 s not all of its nodes are idle"
}
nodes_are_idle() { ! sinfo -h -N -p "low_$name" -o %T | grep -qvE '^(idle|down)'; }

tell_of_failure() {
  local code=$?
  ((code != 0 || wrong != 0)) || return 0
  wrong=1
  echo "--- the job's output, its end:"
  tail -n 25 "$work"/*-*.out
  echo "--- events.csv:"
  cat "$run/events.csv" || true
  echo "--- jobcomp.txt:"
  grep "^JobId=$job " "$cluster/log/jobcomp.txt" | cut -c1-120 || true
}
