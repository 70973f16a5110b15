#!/usr/bin/env bash
# Watching a run: its status while it lives and after, its story, pictures, event files and timelines.
# shellcheck disable=SC2016 # the dollars are those of awk
# shellcheck source=checks.bash
source "$(dirname "${BASH_SOURCE[0]}")/checks.bash"
cd "$scratch"

make_idx train 96
make_idx test 40
for split in train test; do
  "$lockstep" data import idx --images $split-images.gz --labels $split-labels.gz --out shards/$split >import.log
done
cat >tiny.conf <<'TEXT'
[data]
train = shards/train
test = shards/test
[model]
hidden = 16
[train]
steps = 20
global_batch = 16
micro_batch = 4
reduction = exact
[eval]
every = 8
[checkpoint]
every = 10
TEXT
run=checkpoints/tiny

rows() { grep -cE '^[0-9]+,' "$1" 2>/dev/null || true; }
more_rows_than() { (($(rows "$1") > $2)); }
# events RUN NAME: the details of these events.
events() { awk -F, -v name="$2" '$3 == name { print $4 }' "$1/events.csv"; }
# ends_with CODE PID: so does this child.
ends_with() { exits "$1" wait "$2"; }

# --- Timelines of two ranks ----------------------------------------------------------------------------------
check "two ranks train with a trace" exits 0 mpirun --oversubscribe -n 2 "$lockstep" train tiny.conf --trace t.json
# spans RANK TID: "begin duration name" of each span, in the order in which they begin, outer ones first.
spans() {
  sed -nE "s/.*\"name\":\"([^\"]*)\".*\"ph\":\"X\",\"ts\":([0-9]+),\"dur\":([0-9]+),\"pid\":$1,\"tid\":$2[,}].*/\2 \3 \1/p" \
    "t.$1.json" | sort -k1,1n -k2,2nr
}
# Four micro-batches a step, two on each rank, where the second is added to the first.
for rank in 0 1; do
  check "rank $rank: every step has its parts" awk '
    { end = $1 + $2; $1 = $2 = ""; name = substr($0, 3); count[name]++ }
    name == "step" { until = end }
    name ~ /^(data wait|backward|add to the tree|reduction|agreement|optimizer)$/ && end > until { print name " outside a step"; bad = 1 }
    END {
      if (count["step"] != 20 || count["optimizer"] != 20 || count["reduction"] != 20 || count["agreement"] != 20 ||
          count["backward"] != 40 || count["data wait"] != 40 || count["add to the tree"] != 20) bad = 1
      if (count["forward"] < 40 || count["checkpoint"] != 2 || count["evaluation"] != 3 || count["publish"] != 2) bad = 1
      for (name in count) print name, count[name]
      exit bad
    }' <(spans $rank 0)
  check "rank $rank: spans lie within or beside each other" awk '
    { while (depth && ends[depth] <= $1) depth--
      if (depth && $1 + $2 > ends[depth]) { print "crosses its neighbour: " $0; bad = 1 }
      ends[++depth] = $1 + $2 }
    END { exit bad || NR == 0 }' <(spans $rank 0)
done
check "the loader's thread is there" test "$(spans 1 1 | grep -c read)" -ge 40
check "the ranks have names" grep -q '"name":"process_name","ph":"M","pid":1,"tid":0,"args":{"name":"rank 1 on ' t.1.json
check "the array is closed" test "$(tail -n 1 t.0.json)" = ']'
check "the ranks' clocks agree" awk 'NR == FNR { if (!first) first = $1; next } FNR == 1 { d = $1 - first; exit }
  END { exit !(d < 60e6 && d > -60e6) }' <(spans 0 0) <(spans 1 0)
check "a trace that cannot be created is an error" complains 73 no-such-folder \
  "$lockstep" train tiny.conf --run.dir=untraced --trace no-such-folder/t.json

# --- After the end -------------------------------------------------------------------------------------------
check "status tells a finished run" says "$run: finished, all 20 steps are done" "$lockstep" status "$run"
check "with its step" says '20/20 (100 %)' "$lockstep" status "$run"
check "status for programs" says '"state":"finished"' "$lockstep" status --json "$run"
check "status of no folder" complains 66 'there is no folder' "$lockstep" status absent
check "status of another folder" complains 66 'not the folder of a run' "$lockstep" status shards
check "status of nothing is a usage error" exits 64 "$lockstep" status
check "several runs take a line each" test "$("$lockstep" status "$run" "$run" | wc -l)" = 2
check "one that is missing does not hide the others" says finished "$lockstep" status "$run" absent
check "but is an error" exits 66 "$lockstep" status "$run" absent
check "checkpoints are told with size and time" grep -qxE 'step-00000010.h5; [0-9]+ bytes; [0-9.]+ s' <(events "$run" saved)
check "one event file for TensorBoard" test "$(find "$run/tensorboard" -name 'events.out.tfevents.*' | wc -l)" = 1

# --- A live run, and its ends --------------------------------------------------------------------------------
live=checkpoints/live
start() { "$lockstep" train tiny.conf --run.dir=$live --train.steps=10000000 --eval.every=0 "$@" >>live.log 2>&1 & }
start --checkpoint.every=50 --run.tensorboard=off
job=$!
check "a run starts" poll 60 more_rows_than $live/metrics.csv 120
check "its status is running" says "$live: running" "$lockstep" status $live
check "its curves can be drawn" exits 0 "$lockstep" plot $live --out live-plots
kill -KILL $job
check "it is killed" ends_with 137 $job
check "then it is dead" says "$live: dead" "$lockstep" status $live
start --run.tensorboard=on
job=$!
check "it goes on" poll 60 grep -q resumed $live/events.csv
kill -TERM $job
check "and saves on TERM" ends_with 75 $job
check "then it is stopped" says "$live: stopped, saved after step" "$lockstep" status $live
check "the attempt that was killed left no word" grep -q 'left no word$' <(events $live resumed)
check "the signal is told with rank and node" grep -qx "TERM to rank 0 on $(hostname)" <(events $live signal)
check "each attempt decides for itself about event files" test "$(find $live/tensorboard -type f | wc -l)" = 1
check "an attempt that fails" exits 78 "$lockstep" train tiny.conf --run.dir=$live --train.steps=10000000 --optim.lr=1e38
check "is told in the events" grep -q '^exit code 78; ' <(events $live failed)
check "and by the status" says "$live: failed, exit code 78" "$lockstep" status $live
check "a resumed run tells how long it has waited" \
  grep -qE '^1 ranks; job local-[0-9-]+ restart 0; [0-9.]+ s after it stopped$' <(events $live resumed)

# --- lockstep requeue ----------------------------------------------------------------------------------------
mkdir bin
cat >bin/scontrol <<'TEXT'
#!/bin/sh
[ "$2" = show ] && echo 'JobId=7 JobState=RUNNING Reason=None Restarts=0'
exit 0
TEXT
chmod +x bin/scontrol
requeue() { PATH=$PWD/bin:$PATH SLURM_JOB_ID=7 "$lockstep" requeue "$1" --status="$2"; }
check "a failure is requeued" exits 0 requeue $live 137
check "which is told in the events" grep -q '^job 7; the step ended with status 137' <(events $live requeued)
check "a mistake is not" exits 78 requeue $live 78
check "which is told too" grep -q '^job 7; .*not requeued' <(events $live 'not requeued')
check "a run that never started is requeued, too" exits 0 requeue never-started 137

# --- Pictures ------------------------------------------------------------------------------------------------
is_png() { [[ $(head -c 4 "$1" | od -An -tx1) == ' 89 50 4e 47' ]] && (($(stat -c %s "$1") > 5000)); }
check "plot draws four pictures" test "$("$lockstep" plot "$run" | sort | xargs -n 1 basename | xargs)" = \
  'accuracy.png learning_rate.png loss.png throughput.png'
for picture in accuracy learning_rate loss throughput; do
  check "$picture is one" is_png "$run/plots/$picture.png"
done
check "and leaves nothing else" test "$(find "$run/plots" -type f | wc -l)" = 4
mkdir numbers
printf 'step,epoch,samples,loss,accuracy,learning_rate,gradient_norm\n1,0,8,2.5,,0.1,1\n2,0,16,,,0.1,\n' >numbers/metrics.csv
check "targets that are numbers have no accuracy" test "$("$lockstep" plot numbers | xargs -n 1 basename | xargs)" = \
  'loss.png learning_rate.png'
check "one step makes a picture" is_png numbers/plots/loss.png
mkdir empty
check "plot of no run" complains 66 metrics.csv "$lockstep" plot empty
printf 'step,samples,loss\n' >empty/metrics.csv
check "plot of no steps" complains 65 'no steps yet' "$lockstep" plot empty
without_gnuplot() { PATH=$PWD/bin "$lockstep" plot "$run"; }
check "without gnuplot the package is named" complains 66 gnuplot-nox without_gnuplot
summary
