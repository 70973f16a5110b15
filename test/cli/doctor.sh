#!/usr/bin/env bash
# What `lockstep doctor` says: alone and on several ranks, with and without a configuration, and where something is
# shellcheck source=checks.bash
source "$(dirname "${BASH_SOURCE[0]}")/checks.bash"
cd "$scratch"

make_idx train 32
"$lockstep" data import idx --images train-images.gz --labels train-labels.gz --out shards >import.log
cat >tiny.conf <<'TEXT'
[data]
train = shards
[model]
hidden = 64
[train]
steps = 20
global_batch = 16
micro_batch = 4
[run]
dir = runs/tiny
TEXT

ranks() { mpirun --mca mpi_yield_when_idle 1 -n "$1" "${@:2}"; }
# section NAME FILE: its lines.
section() { sed -n "/^$1\$/,/^[a-z]/p" "$2"; }
# has SECTION PATTERN FILE
has() { grep -qE -- "$2" <(section "$1" "$3") || { echo "no '$2' in $1 of:" && cat "$3" && return 1; }; }
nothing_left() { test -z "$(find . -maxdepth 1 -name '.lockstep-doctor-*')"; }

# --- One process, no launcher --------------------------------------------------------------------------------
check "alone it succeeds" exits 0 "$lockstep" doctor
mv check-output alone
check "it tells of one rank" has allocation '^  ranks  +1 on 1 node ' alone
check "and that there is no configuration" has model 'no configuration was given' alone
check "and the versions" has software '^  MPI  +built with Open MPI' alone
check "and the disk" has folder '^  write +[0-9]+ MB/s' alone

# --- Ranks, and a configuration ------------------------------------------------------------------------------
check "four ranks with a configuration" exits 0 ranks 4 "$lockstep" doctor tiny.conf --train.micro_batch=2 --json
mv check-output four.json
check "each has its facts" test "$(grep -o '"gemm_flops":[0-9]' four.json | wc -l)" = 4
check "and its share of the micro-batches" test "$(grep -o '"own_micro_batches":2,' four.json | wc -l)" = 4
check "16 x 64 + 64 + 64 x 4 + 4 parameters" grep -q '"parameters":1348,' four.json
check "locks are seen" test "$(grep -o '"next_lock":"seen"' four.json | wc -l)" = 4
check "sums are timed" grep -q '"all_reduce.auto.000000004096":[0-9]' four.json
check "and compared with the model" grep -q '"advice":\["shared memory: a step of this model needs ' four.json
check "the run folder is not made" fails test -e runs
check "and nothing is left" nothing_left
check "--comm tries all ways" exits 0 ranks 2 "$lockstep" doctor --comm --only communication --limit 3
mv check-output comm
# How far they get in their quarter of the limit, depends on the machine.
check "in Lockstep's own" has communication '^  auto 4.0 KiB +[0-9.]+ ms  busbw.* by [a-z]+' comm
check "and MPI's" has communication '^  mpi 4.0 KiB +[0-9.]+ ms  busbw' comm
check "more ranks than micro-batches are told" \
  exits 78 ranks 2 "$lockstep" doctor tiny.conf --only model --train.global_batch=4
mv check-output crowded
check "with their number" has model 'failed: 2 ranks, but a step has only 1 micro-batch' crowded
check "data that are not there are told" exits 66 ranks 2 "$lockstep" doctor tiny.conf --only model,folder --data.train=absent
mv check-output absent
check "by one line for all ranks" has model '^  failed: rank 0 on .* \(and 1 more\): .*absent' absent
check "and the rest goes on" has folder '^  write' absent

# --- Words that are wrong ------------------------------------------------------------------------------------
check "a part that does not exist" complains 64 'did you mean folder?' "$lockstep" doctor --only fodler
check "keys without a configuration" complains 64 'belongs to a configuration' "$lockstep" doctor --optim.lr=1
check "a configuration that is not there" complains 66 'absent.conf' "$lockstep" doctor absent.conf
check "an empty name in a list" complains 64 '"folder,": the name of a part is empty' "$lockstep" doctor --only=folder,
check "an empty list" complains 64 'the name of a part is empty' "$lockstep" doctor --only ''
check "a run folder that is a file" exits 73 "$lockstep" doctor --only folder --dir tiny.conf
mv check-output file
check "is told" has folder 'failed: rank 0 on .*/tiny.conf is in the way: it is not a folder' file
check "so is one that would be below a file" exits 73 "$lockstep" doctor --only folder --dir tiny.conf/runs
refused() { "$lockstep" doctor tiny.conf --train.micro_batch=0 --json >refused.json 2>refused.log; }
check "a bad configuration" exits 78 refused
check "is told in JSON, too" grep -qxE '\{"exit_code":78,"sections":\[\{"name":"configuration",.*train.micro_batch.*\}' refused.json
check "no time at all" complains 64 'wanted 1 to 3600' "$lockstep" doctor --limit 0

# --- What is broken ------------------------------------------------------------------------------------------
# strike FAULT COMMAND...
strike() { LOCKSTEP_FAULT=$1 LD_PRELOAD=$build/test/libfault.so "${@:2}"; }
# It waits for the limit of a part and as long again: meanwhile the others are tried.
mkdir elsewhere
strike fsync:1:1:stop:.lockstep-doctor- ranks 2 "$lockstep" doctor --only compute,folder --dir elsewhere --limit 3 >frozen 2>&1 &
frozen=$!
check "a disk that is full" exits 73 strike fsync:2:1:fail:.lockstep-doctor- ranks 2 "$lockstep" doctor --only folder
mv check-output full
check "is told with its rank" has folder 'failed: rank 1 on .*: cannot fsync .*No space left' full
check "and nothing is left then" nothing_left
check "a disk that gives no answer" \
  exits 76 strike fsync:1:1:stall:.lockstep-doctor- ranks 2 "$lockstep" doctor --only compute,folder --limit 3
mv check-output stuck
check "is told with its rank" has folder '^  failed: rank 1 on .*: write: no answer within 3 s' stuck
check "beside what works" has compute 'GFLOP/s per rank' stuck
check "a rank that is slow" \
  exits 0 strike fsync:1:1:slow=1500:.lockstep-doctor- ranks 2 "$lockstep" doctor --only folder
mv check-output slow
check "is named" has folder 'warning: rank 1 on .* writes slowly' slow
check "a rank that does not come up" \
  exits 76 mpirun -n 1 "$lockstep" doctor --limit 1 : -n 1 sleep 60
mv check-output late
check "is waited for no longer than that" grep -q 'rank 0 on .*: MPI has not come up within 2 s' late
check "a sum that does not end" \
  exits 76 strike MPI_Allreduce:4:1:stall ranks 2 "$lockstep" doctor --comm --only communication --limit 3
mv check-output endless
check "is given up" grep -q 'MPI_Allreduce of 4.0 KiB has not ended within 3 s' endless

check "where a rank is frozen" exits 76 wait "$frozen"
check "it is named" grep -q '^lockstep: error: folder: no word from rank 1 on .* within 6 s' frozen
check "in its part, with what was found of that" has folder '^  file system ' frozen
check "as failed" has folder '^  failed: folder: no word from rank 1 on ' frozen
check "and all is not well" grep -qxE '1 failure, [0-9]+ warnings?' frozen
check "after what was found until then" has compute 'GFLOP/s per rank' frozen
summary
