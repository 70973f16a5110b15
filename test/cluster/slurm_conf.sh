# shellcheck shell=bash
# Writes the configuration files of one instance. Sourced by `up`.
# The variables used here are set by `up` and lib.sh:
# shellcheck disable=SC2154

write_slurm_conf() {
  local host address node_hosts node_addresses memory
  if ((namespaces)); then
    host=login address=$login_address node_hosts="n[1-$nodes]" node_addresses="$network.[1-$nodes]"
  else
    host=$(hostname -s) address=127.0.0.1 node_hosts=$host node_addresses=127.0.0.1
  fi
  memory=$(awk '$1 == "MemTotal:" { print int($2 / 1024) }' /proc/meminfo)
  cat <<END
ClusterName=$cluster
SlurmctldHost=$host($address)
SlurmctldPort=$base_port
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$dir/run/munge.socket,cred_expire=$cred_expire

StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool/%n
SlurmctldPidFile=$dir/run/slurmctld.pid
SlurmdPidFile=$dir/run/%n.pid
SlurmctldLogFile=$dir/log/slurmctld.log
SlurmdLogFile=$dir/log/%n.log
SlurmctldDebug=verbose
SlurmdDebug=verbose
JobCompType=jobcomp/filetxt
JobCompLoc=$dir/log/jobcomp.txt
# The PMIx plugins of all nodes live on this one machine: each needs a folder of its own.
TmpFS=$dir/tmp/%n
# The machine's own plugstack must not reach into a test.
PlugStackConfig=$dir/etc/plugstack.conf
TaskProlog=$dir/etc/task_prolog

ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=pmix
MpiParams=ports=$((base_port + max_nodes + 1))-$((base_port + port_block - 1))

SchedulerType=sched/backfill
# The defaults look at the queue once a minute and wait for batches of jobs: tests want an answer in a second.
SchedulerParameters=sched_interval=1,sched_min_interval=0,bf_interval=1,bf_resolution=1,batch_sched_delay=0
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
JobRequeue=1

KillWait=$kill_wait
SlurmdTimeout=$slurmd_timeout
SlurmctldTimeout=30
InactiveLimit=0
MinJobAge=3600
ReturnToService=2
SlurmdParameters=config_overrides
END
  ((gpus == 0)) || printf 'GresTypes=gpu\n'
  ((${#switches[@]} == 0)) || printf 'TopologyPlugin=topology/tree\n'
  printf '\nNodeName=n[1-%d] NodeHostname=%s NodeAddr=%s Port=[%d-%d]' \
    "$nodes" "$node_hosts" "$node_addresses" $((base_port + 1)) $((base_port + nodes))
  printf ' Sockets=1 CoresPerSocket=%d ThreadsPerCore=1 RealMemory=%d' "$cpus" "$memory"
  ((gpus == 0)) || printf ' Gres=gpu:%d' "$gpus"
  cat <<END

PartitionName=low Nodes=ALL Default=YES PriorityTier=1 PreemptMode=REQUEUE GraceTime=$grace DefaultTime=30 MaxTime=INFINITE
PartitionName=high Nodes=ALL PriorityTier=10 PreemptMode=OFF DefaultTime=30 MaxTime=INFINITE
END
  [[ ${#extra_conf[@]} -eq 0 ]] || printf '%s\n' "${extra_conf[@]}"
}

# The fake devices have the numbers of /dev/null: on a machine with real GPUs a job cannot reach them by these.
make_fake_gpus() {
  local index
  mkdir -p "$dir/dev"
  for ((index = 0; index < gpus; ++index)); do
    mknod -m 666 "$dir/dev/nvidia$index" c 1 3 2>/dev/null || : >"$dir/dev/nvidia$index"
  done
  printf 'AutoDetect=off\nNodeName=n[1-%d] Name=gpu File=%s/dev/nvidia%s\n' \
    "$nodes" "$dir" "$( ((gpus == 1)) && echo 0 || echo "[0-$((gpus - 1))]")"
}

# What a shell or a job needs to talk to this instance.
write_env() {
  cat <<END
export LOCKSTEP_CLUSTER_DIR='$dir'
export LOCKSTEP_CLUSTER_NAME='$cluster'
export LOCKSTEP_CLUSTER_NODES='$nodes'
export LOCKSTEP_CLUSTER_DAEMONS='$daemons'
export LOCKSTEP_CLUSTER_USER='$user'
export SLURM_CONF='$dir/etc/slurm.conf'
export PATH='$dir/prefix/bin':"\$PATH"
END
  # Nodes in namespaces have interfaces that Open MPI, or a plugin for it, is to find by itself.
  ((namespaces)) || cat <<END
# Open MPI leaves the loopback interface out unless told, and it may be the only one here.
export OMPI_MCA_btl_tcp_if_include=lo
END
}

# Open MPI names its shared segments by host name and local rank, which without namespaces are the same on all nodes
# of this one machine: ranks of different nodes would map each other's memory. So each node has a folder for them,
# which also keeps what killed ranks leave behind inside the instance. Slurm reads the exports from the output.
write_task_prolog() {
  cat <<END
#!/bin/sh
for name in btl_vader osc_sm osc_rdma; do
  echo "export OMPI_MCA_\${name}_backing_directory=$dir/tmp/\$SLURMD_NODENAME"
done
END
}
