#!/usr/bin/env bash
# Help, versions, and what the program says to wrong command lines and configurations.
# shellcheck source=checks.bash
source "$(dirname "${BASH_SOURCE[0]}")/checks.bash"
cd "$scratch"

for command in train requeue status doctor plot data checkpoint; do
  check "--help lists $command" says "  $command " "$lockstep" --help
  check "$command --help succeeds" exits 0 "$lockstep" "$command" --help
  check "$command --help shows its usage" says "lockstep $command" "$lockstep" "$command" --help
done
check "no command is a usage error" exits 64 "$lockstep"
check "an unknown command names the nearest" complains 64 'did you mean train?' "$lockstep" trian
check "a command far from all points to the help" complains 64 'lockstep --help' "$lockstep" xyzzyxyzzy
for name in compiler MPI HDF5 oneDNN Boost fmt xxHash CUDA; do
  check "--version tells $name" says "$name" "$lockstep" --version
done
check "--version tells where the CUDA backend is" says 'CUDA, NCCL    /some/where.so' \
  env LOCKSTEP_CUDA_LIBRARY=/some/where.so "$lockstep" --version
to_full_disk() { "$@" >/dev/full; }
check "a full disk is noticed" exits 73 to_full_disk "$lockstep" --help

cat >good.conf <<'TEXT'
# a comment
[data]
train = shards

[train]
steps = 7
global_batch = 64
micro_batch = 16
TEXT
with_line() { sed "$1" good.conf >"$2"; }

check "docs/configuration.md is what the program says; else: make docs" \
  diff "$root/docs/configuration.md" <("$lockstep" train --reference)
check "no configuration is a usage error" complains 64 'which configuration?' "$lockstep" train
check "a missing configuration is named" complains 66 'absent.conf' "$lockstep" train absent.conf
check "a folder is no configuration" complains 66 "$PWD" "$lockstep" train "$PWD"

with_line 's/^steps/stesp/' unknown.conf
check "an unknown key: file, line, nearest key" \
  complains 78 'unknown.conf:6: unknown key train.stesp; did you mean train.steps?' "$lockstep" train unknown.conf
with_line 's/^steps = 7/steps = -1/' negative.conf
check "a bad value: file, line, key, value" \
  complains 78 'negative.conf:6: train.steps = -1: ' "$lockstep" train negative.conf
with_line 's/^steps.*/&\nsteps = 8/' twice.conf
check "a key given twice: file, line" \
  complains 78 'twice.conf:7: train.steps is given twice' "$lockstep" train twice.conf
with_line 's/^micro_batch = 16/micro_batch = 17/' deal.conf
check "batches that do not divide name both keys" \
  complains 78 'train.micro_batch = 17 does not divide train.global_batch = 64' "$lockstep" train deal.conf
with_line '/^train = /d' nodata.conf
check "a missing data.train is named" complains 78 'data.train' "$lockstep" train nodata.conf
check "an unknown key on the command line" complains 64 'did you mean train.steps?' \
  "$lockstep" train good.conf --train.step=5
check "a bad value on the command line" complains 78 'command line: train.steps = many' \
  "$lockstep" train good.conf --train.steps=many
check "a stray word on the command line" complains 64 'lockstep train' "$lockstep" train good.conf train.steps=5

check "--print tells one value" test "$("$lockstep" train good.conf --print=train.steps)" = 7
check "the command line beats the file" says 9 "$lockstep" train good.conf --train.steps=9 --print=train.steps
check "the last of two on the command line wins" says 11 \
  "$lockstep" train good.conf --train.steps=9 --train.steps=11 --print=train.steps
check "--print of an unknown key names the nearest" \
  complains 64 'did you mean train.steps?' "$lockstep" train good.conf --print=train.stesp

"$lockstep" train good.conf --print-config --optim.lr=0.125 >printed.conf
check "--print-config tells where a value is from: file and line" says 'good.conf:6' cat printed.conf
check "--print-config tells where a value is from: the command line" says 'command line' cat printed.conf
check "--print-config tells where a value is from: default" says '# default' cat printed.conf
without_origins() { sed 's/ *#.*//' "$1"; }
"$lockstep" train printed.conf --print-config --run.dir=checkpoints/good >again.conf
check "what --print-config prints is read back the same" \
  diff <(without_origins printed.conf) <(without_origins again.conf)

keys_are_in_help() {
  local help section='' line
  help=$("$lockstep" train --help)
  while read -r line; do
    if [[ $line == \[*\] ]]; then
      section=${line//[][]/}
    elif [[ $line == *=* ]]; then
      [[ $help == *" $section.${line%% *} "* ]] || { echo "not in the help: $section.${line%% *}" && return 1; }
    fi
  done < <(without_origins printed.conf)
}
check "each key of --print-config is in --help" keys_are_in_help
summary
