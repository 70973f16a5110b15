# shellcheck shell=bash
# A test cluster whose nodes have networks of their own, to measure on. Sourced by the scripts of this folder; sets
# scratch (a folder that nodes can read), and removes it with all clusters at the end.
#
#   TORCH_PYTHON=python3   a Python that has torch; empty: without PyTorch
#   ROUNDS=3               measurements of each, of which the median counts
#   NICE=0                 priority of what is measured, as of nice(1): -18 on a machine that others use
# shellcheck disable=SC2034 # for those who source it

build=${BUILD:-build}
python=${TORCH_PYTHON-python3}
rounds=${ROUNDS:-3}
priority=${NICE:-0}
scratch=$(mktemp -d /tmp/lockstep-bench.XXXXXX)
chmod 755 "$scratch"
clusters=()
clean() {
  local cluster
  for cluster in "${clusters[@]}"; do test/cluster/down "$cluster" >/dev/null 2>&1 || true; done
  rm -rf "$scratch"
}
trap clean EXIT
trap 'exit 1' HUP INT TERM

if [[ -n $python ]] && ! "$python" -c 'import torch' 2>/dev/null; then
  echo "bench: $python has no torch: install python3-torch, or name a Python that has it with TORCH_PYTHON=" >&2
  exit 66
fi

# start_cluster RATE [OPTION...]: four nodes on links of this rate, or "unlimited". Sets cluster.
start_cluster() {
  local shape=("--rate=$1")
  [[ $1 != unlimited ]] || shape=()
  cluster=$(test/cluster/up --nodes=4 --namespaces --user=root "${shape[@]}" "${@:2}" 2>"$scratch/up.log") ||
    { cat "$scratch/up.log" >&2 && exit 70; }
  clusters+=("$cluster")
}
stop_cluster() { test/cluster/down "$cluster" >/dev/null; }

# on_nodes NODES COMMAND: as one rank on each of so many nodes of $cluster. Prints what it prints; its errors are in
# $scratch/err.
on_nodes() {
  timeout 180 test/cluster/run "$cluster" env SLURM_PMIX_FENCE=ring srun --nodes="$1" --ntasks="$1" --overcommit \
    --quiet nice -n "$priority" "${@:2}" </dev/null 2>"$scratch/err" || { cat "$scratch/err" >&2 && return 70; }
}
