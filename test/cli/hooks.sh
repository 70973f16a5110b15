#!/usr/bin/env bash
# run.hook: what it is told over the life of a run, and that it can neither delay nor spoil one.
# shellcheck disable=SC2016 # the dollars are the hook's
# shellcheck source=checks.bash
source "$(dirname "${BASH_SOURCE[0]}")/checks.bash"
cd "$scratch"

make_idx train 64
"$lockstep" data import idx --images train-images.gz --labels train-labels.gz --out shards >import.log
cat >tiny.conf <<'TEXT'
[run]
hook = printf '%s|%s|%s|%s|%s|"%s" it'"'"'s\n' "$LOCKSTEP_EVENT" "$LOCKSTEP_STEP" "$LOCKSTEP_JOB" "$LOCKSTEP_RESTART" "$LOCKSTEP_RUN_DIR" "$LOCKSTEP_REASON" >>told
[data]
train = shards
[model]
hidden = 16
[train]
steps = 20
global_batch = 16
micro_batch = 4
TEXT
run=checkpoints/tiny

train() { "$lockstep" train tiny.conf "$@"; }
start() { "$lockstep" train tiny.conf --train.steps=100000000 "$@" >>live.log 2>&1 & }
ends_with() { exits "$1" wait "$2"; }
is_gone() { fails kill -0 "$1" 2>/dev/null; }
has_children() { pgrep -P "$1" >/dev/null; }

# --- The story of a run --------------------------------------------------------------------------------------
start
job=$!
check "the hook is told of the start" poll 60 grep -q '^start|0|local-' told
check "and leaves no zombie" poll 60 fails has_children $job
kill -TERM $job
check "the run stops" ends_with 75 $job
check "of the stop, with reason and quotes" grep -qE '^stop\|[0-9]+\|local-.*\|0\|.*/checkpoints/tiny\|"signal TERM.*" it.s$' told
stopped=$(awk -F'|' '$1 == "stop" { print $2 }' told)
check "the run goes on" exits 0 train --train.steps=$((stopped + 5))
check "the resume has the step" grep -q "^resume|$stopped|" told
check "a run that has just finished waits for its hook" grep -qE "^finish\|$((stopped + 5))\|.*steps are done" told

mkdir bin
printf '#!/bin/sh\n[ "$2" != show ] || echo JobId=7 JobState=$STATE Reason=None Restarts=${RESTARTS:-0}\n' >bin/scontrol
chmod +x bin/scontrol
requeue() { STATE=${3:-RUNNING} PATH=$PWD/bin:$PATH SLURM_JOB_ID=7 SLURM_RESTART_COUNT=0 "$lockstep" requeue "$1" --status="$2"; }
check "a failure is requeued" exits 0 requeue $run 137
check "the hook hears of the failure" grep -q '^failure|0|7|0|.*status 137.*failure 1 of at most 3' told
check "and of the requeue" grep -q '^requeue|0|7|0|' told
check "in this order" test "$(cut -d'|' -f1 told | xargs)" = 'start stop resume finish failure requeue'
check "an error of the user's" exits 78 requeue $run 78
check "is a failure that nobody requeues" test "$(tail -n 1 told | cut -d'|' -f1)" = failure
lines=$(grep -c '' told)
check "a cancelled job" exits 75 requeue $run 75 COMPLETING
check "is not news to who cancelled it" test "$(grep -c '' told)" = "$lines"
RESTARTS=1 check "a job that Slurm itself has requeued" exits 0 requeue $run 143 COMPLETING
check "goes on" grep -q '^requeue|.*Slurm has requeued the job itself' <(tail -n 1 told)

# A second job on the folder of one that lives: it was refused, or died on the way there.
cp $run/owner owner
sed -e 's/^job=.*/job=6/' -e 's/^slurm=.*/slurm=1/' -e '/^ended/d' owner >$run/owner
records() { cat told $run/events.csv $run/failures; }
before=$(records)
check "a refused job" exits 73 requeue $run 73
check "and one that fails before it is refused" says 'failure 1 of at most 3' requeue $run 137
check "leave no word in the owner's records" test "$(records)" = "$before"
mv owner $run/owner

# A start that fails after it has claimed its folder, before the first step.
rm -f told
check "a start that fails" exits 73 train --run.dir=early --trace no-such-folder/t.json
check "is told by lockstep requeue" exits 73 requeue early 73
check "with the hook of its folder" grep -q '^failure|0|7|' told

# --- Hooks that misbehave ------------------------------------------------------------------------------------
failing() { train --run.dir=failing --run.hook="$1"; }
check "a hook that fails is a warning" says 'warning: run.hook (start) failed with exit code 3' failing 'exit 3'
check "and changes nothing" exits 0 failing 'exit 3'
check "what it prints is in the job's output" says 'run.hook (finish): hello finish' failing 'echo hello $LOCKSTEP_EVENT'
check "a program that is not there is a warning, too" says 'failed with exit code 127' failing no-such-program
check "a # is refused: it would begin a comment" complains 78 'put it into a script' failing 'echo a # b'
check "no hook, no word" fails says 'run.hook (' failing ''

# The shell and its child hang; the second event waits behind them.
hang='sleep 1000 & echo $! >sleeper; echo $$ >shell; wait'
start --run.dir=hanging --run.hook="$hang"
job=$!
check "a hook that hangs does not stop the run" poll 60 test -s shell
more_steps() { [[ -s hanging/metrics.csv ]] && (($(wc -l <hanging/metrics.csv) > 20)); }
check "which makes its steps" poll 60 more_steps
check "the hook still hangs" kill -0 "$(cat shell)"
kill -TERM $job
check "and the run leaves with its own code" ends_with 75 $job
check "the hook is ended" poll 10 is_gone "$(cat shell)"
check "with what it has started" poll 10 is_gone "$(cat sleeper)"
check "which is told" grep -q 'warning: run.hook (start) was ended, as the job leaves' live.log

# Nobody is left to end it but the system.
rm -f shell sleeper
start --run.dir=killed --run.hook="$hang"
job=$!
check "a hook hangs" poll 60 test -s shell
kill -KILL $job
check "its run is killed" ends_with 137 $job
check "the hook goes with it" poll 10 is_gone "$(cat shell)"
check "and what it has started" poll 10 is_gone "$(cat sleeper)"
check "a hook in a folder that is gone by now" says 'run.hook (start): in /' \
  bash -c 'mkdir -p gone && cd gone && rmdir ../gone && "$0" train ../tiny.conf --run.dir="$1/elsewhere" --data.train="$1/shards" \
    --run.hook="echo in \$LOCKSTEP_RUN_DIR"' "$lockstep" "$scratch"

rm -f shell
"$lockstep" train tiny.conf --run.dir=patient --run.hook='[ $LOCKSTEP_EVENT = start ] || { echo $$ >shell; sleep 1000; }' >>live.log 2>&1 &
job=$!
check "a finished run waits for its hook" poll 60 test -s shell
check "with its result written down" poll 20 says 'patient: finished' "$lockstep" status patient
kill -TERM $job
check "a signal ends the waiting, and not the result" ends_with 0 $job
check "nothing is left" poll 10 is_gone "$(cat shell)"
summary
