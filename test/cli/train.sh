#!/usr/bin/env bash
# The README's path by hand, small: import, look, train as one plain process, start again, look at the checkpoint.
# shellcheck source=checks.bash
source "$(dirname "${BASH_SOURCE[0]}")/checks.bash"
cd "$scratch"

make_idx train 96
make_idx test 40
import() { "$lockstep" data import idx --images "$1-images.gz" --labels "$1-labels.gz" --out "$2" "${@:3}"; }
check "data import makes shards" import train shards/train --shards 3
check "three of them" test "$(find shards/train -name '*.h5' | wc -l)" = 3
check "data import normalises the test split as the training split" \
  import test shards/test --normalise-from shards/train
check "data info counts the samples" says '96 in 3 shards' "$lockstep" data info shards/train
check "data verify accepts them" exits 0 "$lockstep" data verify shards/train
check "a folder in use is refused" fails import train shards/train

head -c 60 train-images.gz >cut-images.gz
cp train-labels.gz cut-labels.gz
check "truncated input is bad data" exits 65 import cut shards/cut
check "and leaves no shard" fails test -e shards/cut
cp train-images.gz other-images.gz
cp test-labels.gz other-labels.gz
check "images and labels of different counts are bad data" exits 65 import other shards/other
check "absent input is named" complains 66 absent-images.gz import absent shards/absent

cat >tiny.conf <<'TEXT'
[data]
train = shards/train
test = shards/test

[model]
name = mlp
hidden = 16

[optim]
lr = 0.1

[train]
steps = 24
global_batch = 16
micro_batch = 8
TEXT
check "train --check looks without training" exits 0 "$lockstep" train tiny.conf --check
check "and makes no run folder" fails test -e checkpoints
check "a missing data folder is named" complains 66 no-such-folder \
  "$lockstep" train tiny.conf --data.train=no-such-folder
check "a run folder below a file cannot be" exits 73 "$lockstep" train tiny.conf --run.dir=tiny.conf/run
check "an unknown model names the known ones" complains 78 mlp "$lockstep" train tiny.conf --model.name=mpl

run=checkpoints/tiny
check "more threads than CPUs are told" says '2 threads on 1 CPUs that rank 0 may use' \
  taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')" "$lockstep" train tiny.conf --run.dir=many --train.threads=2
check "one plain process trains to the end" exits 0 "$lockstep" train tiny.conf
mapfile -t saved < <(find "$run" -name 'step-*.h5' | sort)
check "there is a checkpoint" test "${#saved[@]}" -ge 1
last=${saved[-1]:-absent}
check "there is one row of metrics for each step" test "$(grep -cE '^[0-9]+,' "$run/metrics.csv")" = 24
steps_of() { grep -E '^[0-9]+,' "$1" | cut -d, -f1; }
check "steps 1 to 24, each once" diff <(seq 1 24) <(steps_of "$run/metrics.csv")
check "the run folder tells the outcome" grep -rq . "$run/outcome"
before=$(sha256sum "$run/metrics.csv" "$last")
check "a finished run started again ends at once with 0" exits 0 "$lockstep" train tiny.conf
check "and changes nothing" test "$(sha256sum "$run/metrics.csv" "$last")" = "$before"
check "going on with another seed is refused with the difference" complains 78 run.seed \
  "$lockstep" train tiny.conf --run.seed=5
check "more steps go on from there" exits 0 "$lockstep" train tiny.conf --train.steps=30
check "each step is there once" diff <(seq 1 30) <(steps_of "$run/metrics.csv")

check "checkpoint info describes it" says step "$lockstep" checkpoint info "$last"
check "checkpoint verify accepts it" exits 0 "$lockstep" checkpoint verify "$last"
cp "$last" damaged.h5
# In the middle of the file lie values, not metadata.
middle=$(($(stat -c %s damaged.h5) / 2))
byte=$(od -An -tu1 -j "$middle" -N 1 damaged.h5)
printf '%b' "\\x$(printf %02x $((byte ^ 1)))" | dd of=damaged.h5 bs=1 seek="$middle" conv=notrunc status=none
check "checkpoint verify finds a flipped bit" exits 65 "$lockstep" checkpoint verify damaged.h5
check "checkpoint verify of no file" exits 66 "$lockstep" checkpoint verify absent.h5

check "more ranks than micro-batches are refused with the counts that fit" says 'run 1 to 2 ranks' \
  mpirun -n 3 "$lockstep" train tiny.conf --fresh
summary
