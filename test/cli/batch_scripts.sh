#!/usr/bin/env bash
# The batch scripts as a shell sees them, with stand-ins for Slurm and the trainer: what they make of their input.
# How they do on a real cluster is tested in test/cluster/cases.
# shellcheck disable=SC2016 # the dollars are those of the stand-ins
# shellcheck source=checks.bash
source "$(dirname "${BASH_SOURCE[0]}")/checks.bash"
cd "$scratch"

mkdir bin
stand_in() {
  { echo '#!/bin/bash' && cat; } >"bin/$1"
  chmod +x "bin/$1"
}
stand_in srun <<'TEXT'
echo "$SLURM_PMIX_FENCE" >fence
while [[ $1 == -* ]]; do shift; done
exec "$@"
TEXT
export PATH=$PWD/bin:$PATH

# --- A sweep: one line each ----------------------------------------------------------------------------------
stand_in lockstep <<'TEXT'
[[ $1 == train && "$*" != *' --check '* ]] && printf '<%s>' "$@"
[[ "$*" != *' --check '* ]] || echo the/run
[[ $1 != requeue ]] || printf ' then %s %s' "$2" "$3"
TEXT
cat >sweep.txt <<'TEXT'
# rate, seed
a.conf --optim.lr=0.1

  # and another
b.conf --run.hook='echo "two words"' --run.seed=2
c.conf --run.dir=mine
TEXT
# array TASK LAST [FILE]
array() { SLURM_ARRAY_TASK_ID=$1 SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_MAX=$2 bash "$root/sbatch/array.sbatch" "${3-sweep.txt}"; }
is() { [[ "$("${@:2}" 2>&1)" == "$1" ]] || { "${@:2}" && return 1; }; }
check "task 0 is the first line" is '<train><a.conf><--optim.lr=0.1><--run.dir=checkpoints/sweep/0> then the/run --status=0' array 0 2
check "comments and empty lines do not count; quotes do" \
  is '<train><b.conf><--run.hook=echo "two words"><--run.seed=2><--run.dir=checkpoints/sweep/1> then the/run --status=0' array 1 2
check "a line's own run folder stays" is '<train><c.conf><--run.dir=mine> then the/run --status=0' array 2 2
check "more tasks than lines" complains 64 'sweep.txt has no line for task 3: submit it with --array=0-2' array 3 7
check "fewer tasks than lines are told once" says 'warning: tasks 1 to 2 of sweep.txt are not in this array' array 0 0
unwarned() { fails says warning array 1 1; }
check "by one task" unwarned
check "no such file" complains 64 'cannot read absent' array 0 0 absent
check "no file" complains 64 usage array 0 0 ''
echo '# nothing' >empty.txt
check "a file without a line" complains 64 'has no configuration' array 0 0 empty.txt
echo "a.conf 'open" >open.txt
check "unbalanced quotes" complains 64 'open.txt, task 0: unbalanced quotes' array 0 0 open.txt
check "no array" complains 64 'usage: sbatch --array' env -u SLURM_ARRAY_TASK_ID bash "$root/sbatch/array.sbatch" sweep.txt

# --- Ranks meet in MPI_Init ----------------------------------------------------------------------------------
meets() { rm -f fence && "${@:2}" && test "$(cat fence)" = "$1"; } # FENCE COMMAND...
check "ranks of a sweep meet in MPI_Init" meets ring array 0 2
for script in train chain; do
  check "those of $script.sbatch too" meets ring bash "$root/sbatch/$script.sbatch" a.conf
  SLURM_PMIX_FENCE=tree check "or as the user says" meets tree bash "$root/sbatch/$script.sbatch" a.conf
done

# --- Scaling: verdicts ---------------------------------------------------------------------------------------
# Computing takes 1 s, with SCALING=strong shared by the nodes. Each further node costs DATA, COMPUTE, COMM and REST seconds
# more; the first steps are slow, one later is, too. A step has the samples of train.global_batch, or what the data have
# (SET).
stand_in lockstep <<'TEXT'
[[ "$*" != *' --check '* ]] || { echo 64 && exit; }
[[ -z $FAIL ]] || exit 65
for word in "$@"; do case $word in --run.dir=*) run=${word#*=} ;; --train.global_batch=*) batch=${word#*=} ;; esac; done
((batch <= ${SET:-100000})) || batch=$SET
mkdir -p "$run"
echo "$*" >"$run/words"
{ echo header; awk -v n="${run##*-}" -v strong="$([[ $SCALING == strong ]] && echo 1)" -v data="${DATA:-0}" \
  -v more="${COMPUTE:-0}" -v comm="${COMM:-0}" -v rest="${REST:-0}" 'BEGIN {
    compute = 1 / (strong ? n : 1) + more * (n - 1); data *= n - 1; comm *= n - 1; rest *= n - 1
    for (i = 1; i <= 12; i++)
      printf "%d,%g,%g,%g,%g\n", i, compute + data + comm + rest + (i < 4 || i == 8 ? 9 : 0), data, compute, comm }'; } >"$run/timings.csv"
{ echo header; awk -v batch="$batch" 'BEGIN { for (i = 1; i <= 12; i++) printf "%d,0,%d,1,1,1,1\n", i, i * batch }'; } >"$run/metrics.csv"
TEXT
# scaling NODES [FAIL]
scaling() { rm -rf out && SLURM_JOB_NUM_NODES=$1 FAIL=${2:-} SLURM_JOB_ID=1 OUT=out STEPS=12 bash "$root/sbatch/scaling.sbatch" my.conf --optim.lr=1; }
COMM=0.6 check "a costly second node" says 'verdict: efficiency falls below 80 % at 2 nodes: 62 %, 1.25 x one node. The network is the limit: communication, with waiting for the slowest rank, takes 0 ms of a step on one node, 600 ms (38 %) on 2' scaling 8
COMM=0.2 check "a costly fourth node" says 'verdict: efficiency falls below 80 % at 4 nodes: 62 %, 2.50 x one node. The network' scaling 8
COMM=0.1 DATA=0.5 check "data that are waited for" says 'The data are the limit: ranks wait for them 0 ms of a step on one node, 500 ms (31 %) on 2' scaling 2
COMM=0.1 COMPUTE=0.5 check "shared cores" says 'Computing is the limit: it takes 1000 ms of a step on one node, 1500 ms (94 %) on 2' scaling 2
REST=0.5 check "something else" says 'the rest takes 0 ms of a step on one node, 500 ms (33 %) on 2' scaling 2
SET=64 check "samples that the data do not have are not counted" says '50 %, 1.00 x one node. The batch is the limit: a step has 64 samples, not 128' scaling 2
COMM=0.005 check "no costs worth the name" says 'verdict: efficiency stays above 80 % up to 8 nodes: 97 %, 7.73 x one node' scaling 9
check "the rows" cmp out/scaling.csv - <<'TEXT'
nodes,ranks,samples_per_second,step_seconds,communication_share,efficiency,data_seconds,compute_seconds
1,1,64.0,1.000000,0.000,1.000,0.000000,1.000000
2,2,127.4,1.005000,0.005,0.995,0.000000,1.000000
4,4,252.2,1.015000,0.015,0.985,0.000000,1.000000
8,8,494.7,1.035000,0.034,0.966,0.000000,1.000000
TEXT
check "the picture" grep -qa PNG out/scaling.png
check "nothing else is left" test "$(find out -maxdepth 1 -type f | sort | xargs)" = 'out/scaling.csv out/scaling.png'
check "the batch grows with the nodes" grep -q -- '--train.global_batch=256 ' out/nodes-4/words
check "the configuration arrives" grep -q '^train my.conf --optim.lr=1 ' out/nodes-4/words
export SCALING=strong
check "or stays" says 'verdict: efficiency stays above 80 % up to 4 nodes: 100 %, 4.00 x one node' scaling 4
check "as one batch" grep -q -- '--train.global_batch=64 ' out/nodes-4/words
COMPUTE=0.25 check "too little for each rank" says '67 %, 1.33 x one node. The batch per rank is too small: computing takes 1000 ms of a step on one node, 750 ms (100 %) on 2, not 500 ms' scaling 2
COMM=0.5 check "a network that costs what the nodes save" says '1.00 x one node. The network is the limit' scaling 2
unset SCALING
check "ranks meet in MPI_Init" meets ring scaling 2
check "one node" says 'one node has nothing to compare with' scaling 1
check "a run that fails" exits 65 scaling 2 yes
check "leaves no table" test ! -e out/scaling.csv
SCALING=both check "a word that is neither" exits 64 scaling 2
STEPS=3 check "too few steps" exits 64 env STEPS=3 SLURM_JOB_NUM_NODES=1 SLURM_JOB_ID=1 bash "$root/sbatch/scaling.sbatch" my.conf

# --- Strong scaling of the trainer itself: the batch is one, so is the result --------------------------------
rm bin/lockstep
stand_in srun <<'TEXT'
while [[ $1 == -* ]]; do [[ $1 != --nodes=* ]] || nodes=${1#*=}; shift; done
exec mpirun --oversubscribe -n "$nodes" "$@"
TEXT
make_idx train 64
"$lockstep" data import idx --images train-images.gz --labels train-labels.gz --out shards >import.log
cat >strong.conf <<'TEXT'
[data]
train = shards
[model]
hidden = 8
[train]
global_batch = 16
micro_batch = 4
reduction = exact
TEXT
strong() {
  PATH=$build:$PATH SCALING=strong STEPS=6 SLURM_JOB_NUM_NODES=2 SLURM_JOB_ID=1 OUT=strong SLURM_CPUS_PER_TASK=1 \
    bash "$root/sbatch/scaling.sbatch" strong.conf
}
check "one batch on one node and on two" says 'verdict: ' strong
check "is measured on each" test "$(cut -d, -f1,2 strong/scaling.csv | xargs)" = 'nodes,ranks 1,1 2,2'
check "in times above 0" awk -F, 'NR > 1 && !($3 > 0 && $4 > 0 && $8 > 0) { exit 1 }' strong/scaling.csv
check "and makes the same steps" cmp strong/nodes-1/metrics.csv strong/nodes-2/metrics.csv

# --- lockstep requeue --by=submit ----------------------------------------------------------------------------
stand_in scontrol <<'TEXT'
[[ ${*: -1} != 8 ]] || STATE=$NEXT
[[ $2 == show ]] && echo "JobId=${*: -1} JobState=$STATE Reason=None Restarts=0"
TEXT
stand_in squeue <<'TEXT'
echo 1:00:00
TEXT
stand_in sbatch <<'TEXT'
[[ -z $FORBIDDEN ]] || { echo 'sbatch: error: Access denied' >&2 && exit 1; }
printf '%s\n' "$@" >submitted
echo 8
TEXT
mkdir run
next() { STATE=${2:-RUNNING} SLURM_JOB_ID=7 SLURM_JOB_PARTITION=long SLURM_JOB_NAME=mine "$lockstep" requeue run --status="$1" --by=submit -- /spool/script run.conf '--run.hook=a b'; }
check "a stopped run submits its successor" says 'goes on as job 8' next 75
check "after this job, with its name, partition and time" cmp submitted - <<'TEXT'
--parsable
--dependency=afterany:7
--job-name=mine
--partition=long
--time=1:00:00
/spool/script
run.conf
--run.hook=a b
TEXT
check "which is an event" grep -q ',requeued,job 7; .*goes on as job 8$' run/events.csv
printf 'job=7\nrestart=0\ncluster=c\nnode=n1\nslurm=1\n' >run/owner
check "and what the run waits for" says 'run: waiting, its next job 8 is PENDING' env STATE=COMPLETED NEXT=PENDING "$lockstep" status run
check "unless it has been cancelled" fails says waiting env STATE=COMPLETED NEXT=CANCELLED "$lockstep" status run
printf 'job=8\nrestart=0\ncluster=c\nnode=n1\nslurm=1\n' >run/owner
check "or has taken over" says 'run: running' env NEXT=RUNNING "$lockstep" status run
rm run/owner
# The word that starts over: to be repeated only by a chain whose folder it has not reached yet.
again() { STATE=RUNNING SLURM_JOB_ID=7 SLURM_CLUSTER_NAME=c "$lockstep" requeue run --status=75 --by=submit -- /spool/script run.conf --fresh --run.seed=2; }
check "a chain that owns nothing yet" exits 0 again
check "is still to start over" grep -qx -- --fresh submitted
printf 'job=7\nrestart=0\ncluster=c\nnode=n1\nslurm=1\n' >run/owner
check "a chain that has begun" exits 0 again
check "does not start over in each link" test "$(tail -n 3 submitted | xargs)" = '/spool/script run.conf --run.seed=2'
rm run/owner
for end in '0 RUNNING 0' '78 RUNNING 78' '64 RUNNING 64' '75 COMPLETING 75'; do
  read -r status state code <<<"$end"
  rm -f submitted
  check "srun's $status with a job that is $state" exits "$code" next "$status" "$state"
  check "submits nothing" test ! -e submitted
done
for n in 1 2 3; do check "failure $n in a row" exits 0 next 137; done
rm submitted
check "one too many" exits 70 next 137
check "ends the chain" test ! -e submitted
FORBIDDEN=yes check "a refusal by sbatch" complains 75 'sbatch: sbatch: error: Access denied; submit the job again' next 75
check "nothing to submit" complains 64 'by=submit -- ' env SLURM_JOB_ID=7 "$lockstep" requeue run --status=75 --by=submit
check "another way" complains 64 'by=requeue, or' env SLURM_JOB_ID=7 "$lockstep" requeue run --status=75 --by=magic
summary
