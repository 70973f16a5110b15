# shellcheck shell=bash
# The trainer on the GPUs that Slurm gives, which test/fake_gpu stands in for, set up by the plugin.
# shellcheck disable=SC2154

steps_on_gpus() { [[ -e $cluster/work/gpus/metrics.csv ]] && (($(wc -l <"$cluster/work/gpus/metrics.csv") > $1)); }
happened_on_gpus() { grep -qs ",$1," "$cluster/work/gpus/events.csv"; }
on_cluster_now() { "$plugin_here/../run" "$cluster" "$@"; }

# Two ranks on each of two nodes, a GPU for each: NCCL refuses two ranks of a node on one. Preempted, it
# goes on when there is room, to the same bytes as one process on one GPU, and NCCL sees what the plugin has set.
case_a_job_on_gpus_is_preempted_and_ends_as_if_nothing_was() {
  local library=$build/fake_gpu/liblockstep_cuda.so urgent steps conf=$cluster/work/gpus.conf
  if [[ ! -e $library ]]; then
    echo "no stand-in for GPUs here: NVIDIA's headers are missing (make info)"
    return
  fi
  with_plugin
  [[ -d $cluster/data ]] || train before_gpus
  install -m 755 "$library" "$cluster/etc/"
  cat >"$conf" <<END
run.dir = gpus
data.train = $cluster/data
model.name = mlp
model.hidden = 16
train.device = cuda
train.steps = 1000000
train.global_batch = 32
train.micro_batch = 8
train.reduction = exact
checkpoint.every = 0
END
  local -a settings=(LOCKSTEP_CUDA_LIBRARY="$cluster/etc/liblockstep_cuda.so" FAKE_GPU_MEMORY_MIB=64)
  run_as_user env "${settings[@]}" NCCL_DEBUG=INFO sbatch --parsable --partition=low --nodes=2 --ntasks-per-node=2 \
    --gres=gpu:2 --output=gpus.out "$cluster/prefix/share/lockstep/sbatch/train.sbatch" gpus.conf
  poll_for 60 steps_on_gpus 5 || fail "no steps: $(cat "$cluster/work/gpus.out")"
  run_as_user sbatch --parsable --partition=high --nodes=3 --ntasks-per-node=1 --exclusive --output=/dev/null \
    --wrap='exec sleep infinity'
  urgent=$out
  # It waits five seconds before it starts again.
  poll_for 60 happened_on_gpus stopped || fail "not stopped: $(cat "$cluster/work/gpus.out")"
  steps=$(($(wc -l <"$cluster/work/gpus/metrics.csv") + 20))
  on_cluster_now sed -i "s/^train.steps = .*/train.steps = $steps/" gpus.conf
  on_cluster_now scancel "$urgent"
  poll_for 60 happened_on_gpus finished || fail "not finished: $(cat "$cluster/work/gpus.out")"
  has "$(cat "$cluster/work/gpus.out")" 'cuda Fake GPU'
  has "$(grep -m 1 ',started,' "$cluster/work/gpus/events.csv")" '4 ranks'
  has "$(grep -m 1 ',resumed,' "$cluster/work/gpus/events.csv")" '4 ranks'
  has "$(cat "$cluster/work/gpus.out")" 'fake NCCL: rank 0: NCCL_SOCKET_IFNAME='
  run_as_user env -u CUDA_VISIBLE_DEVICES "${settings[@]}" lockstep train gpus.conf --run.dir=undisturbed
  [[ $code == 0 ]] || fail 'the undisturbed run'
  cmp "$cluster/work/gpus/metrics.csv" "$cluster/work/undisturbed/metrics.csv" || fail 'other numbers than undisturbed'
}
