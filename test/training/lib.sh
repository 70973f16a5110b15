# shellcheck shell=bash
# What the cases of this folder share. Sourced by `test`.

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
build=${BUILD:-build}
lockstep=$PWD/$build/lockstep
# shellcheck disable=SC2034 # for `test`
fault=$PWD/$build/test/libfault.so

# idx FIRST COUNT OUT: a dataset folder with COUNT samples of the real training images, from sample FIRST on.
real=$(dpkg -L dataset-fashion-mnist | grep train-images-idx3-ubyte.gz | xargs -r dirname)
number() { printf '%b' "$(printf '\\x%02x\\x%02x\\x%02x\\x%02x' $(($1 >> 24 & 255)) $(($1 >> 16 & 255)) $(($1 >> 8 & 255)) $(($1 & 255)))"; }
# Parts of a gzip'd stream: `head` may close the pipe early, which is no fault.
part() { (zcat "$1" || true) 2>/dev/null | tail -c "+$(($2 + 1))" | head -c "$3" || true; }
idx() {
  local first=$1 count=$2 out=$3 shards=${4:-1}
  { printf '\0\0\10\3' && number "$count" && number 28 && number 28 &&
    part "$real/train-images-idx3-ubyte.gz" $((16 + 784 * first)) $((784 * count)); } >"$out.images"
  { printf '\0\0\10\1' && number "$count" &&
    part "$real/train-labels-idx1-ubyte.gz" $((8 + first)) "$count"; } >"$out.labels"
  "$lockstep" data import idx --images "$out.images" --labels "$out.labels" --out "$out" --shards "$shards" \
    --classes 10 --mean 0.28 --std 0.35 >/dev/null
  rm "$out.images" "$out.labels"
}

# ranks N ARGS...: trains on N ranks, as one plain process for N = 0; with the library that makes calls fail where
# `preloaded` is set.
ranks() {
  local count=$1 command=("$lockstep")
  shift
  [[ -z ${preloaded:-} ]] || command=(env LD_PRELOAD="$fault" "$lockstep")
  ((count == 0)) || command=(mpirun --oversubscribe -n "$count" "${command[@]}")
  "${command[@]}" train "$@"
}

# exits CODE COMMAND...: the command ends with exactly this code.
exits() {
  local wanted=$1 got=0
  shift
  "$@" || got=$?
  [[ $got == "$wanted" ]] || {
    echo "exit code $got, want $wanted: $*"
    return 1
  }
}

# shellcheck source=../poll.bash
source test/poll.bash

rows() { if [[ -r $1 ]]; then wc -l <"$1"; else echo 0; fi; }
more_rows_than() { (($(rows "$1") > $2)); }

# same_run A B: the runs left the same bytes: metrics, parameters, optimizer, average of the weights.
same_run() {
  local a b
  cmp "$1/metrics.csv" "$2/metrics.csv" && cmp "$1/eval.csv" "$2/eval.csv" || return 1
  a=$(newest "$1") b=$(newest "$2")
  [[ ${a##*/} == "${b##*/}" ]] || {
    echo "newest checkpoints differ: $a, $b"
    return 1
  }
  h5diff "$a" "$b" /model /model && h5diff "$a" "$b" /optimizer /optimizer || return 1
  ! h5ls "$a/ema" >/dev/null 2>&1 || h5diff "$a" "$b" /ema /ema
}
newest() { find "$1/checkpoints" -name 'step-*.h5' | sort | tail -n 1; }

# each_step_once FILE STEPS: the first column is 1, 2, ... STEPS.
each_step_once() { diff <(tail -n +2 "$1" | cut -d, -f1) <(seq "$2"); }

# pids_of PATTERN: this program's processes whose command line holds the text.
pids_of() {
  local pid
  for pid in $(pgrep -f -- "$1"); do
    [[ $(cat "/proc/$pid/comm" 2>/dev/null) == lockstep ]] && echo "$pid"
  done
  return 0
}
