# shellcheck shell=bash
# What the trainer makes of the plugin's variables, in steps of a real cluster.
# shellcheck disable=SC2154

# A short run on four nodes; nodes n1 and n3 are below one switch, n2 and n4 below the other. Its data are real images.
train() { # train RUN_DIR
  local source
  if [[ ! -d $cluster/data ]]; then
    source=$(dirname "$(dpkg -L dataset-fashion-mnist | grep '/t10k-images-idx3-ubyte\.gz$')")
    "$cluster/prefix/bin/lockstep" data import idx --images "$source/t10k-images-idx3-ubyte.gz" \
      --labels "$source/t10k-labels-idx1-ubyte.gz" --classes 10 --shards 2 --out "$cluster/data" >/dev/null
    cat >"$cluster/work/train.conf" <<END
data.train = $cluster/data
model.name = mlp
model.hidden = 16
train.steps = 6
train.global_batch = 32
train.micro_batch = 8
train.reduction = exact
END
  fi
  ok_step --nodes=4 --ntasks-per-node=1 lockstep train train.conf --run.dir="$1"
}

case_the_trainer_orders_its_ranks_by_the_switches() {
  without_plugin
  train ordered_by_slurm
  has_not "$out$err" "topology"
  with_plugin
  # shellcheck disable=SC2016
  ok_step --nodes=4 --ntasks-per-node=1 sh -c 'echo "$SLURMD_NODENAME $LOCKSTEP_TOPOLOGY"'
  is "$(sort <<<"$out" | xargs)" "n1 root/s0 n2 root/s1 n3 root/s0 n4 root/s1" "LOCKSTEP_TOPOLOGY"
  train ordered_by_switch
  has "$out$err" "ranks ordered by the cluster's topology: 2 switches or blocks, 4 nodes"
  has_not "$out$err" "warning: rank"
  cmp "$cluster/work/ordered_by_slurm/metrics.csv" "$cluster/work/ordered_by_switch/metrics.csv" ||
    fail "another order of ranks gave other numbers"
}

case_the_trainer_names_the_node_that_is_set_up_differently() {
  local node
  for node in n1 n2 n3 n4; do
    site_file "trees/$node/etc/nccl.conf" <<<"NCCL_IB_TIMEOUT=$([[ $node == n3 ]] && echo 22 || echo 20)"
  done
  with_plugin "root=$cluster/etc/trees/%n"
  train other_timeout
  has "$out$err" "on n3: "
  has "$out$err" "differs from rank 0's on n1 (nccl)"
  has_lines "$out$err" 1 "differs from rank 0's"
}
