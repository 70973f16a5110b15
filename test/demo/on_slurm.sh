# shellcheck shell=bash
# The demo's first rung: a real Slurm cluster on this machine. Sourced by `run`.
# shellcheck disable=SC2034,SC2154 # set there, used here, and the other way round

cluster_scripts=$root/test/cluster
cluster=$scratch

# Sets `problem` where it fails; `up` has then removed the folder's content.
start_rung() {
  local log=$scratch.log code=0
  "$cluster_scripts/up" --dir="$cluster" --name=demo --nodes=4 --cpus=1 --prefix="$prefix" >"$log" 2>&1 || code=$?
  problem=$(grep . "$log" | tail -n 1)
  rm -f "$log"
  ((code != 0)) || install_plugin
  return "$code"
}

# Built where Slurm's headers are. Plain steps go on without it.
install_plugin() {
  plugin=$cluster/prefix/lib/slurm/spank_lockstep.so
  [[ -e $plugin ]] || return 0
  echo "optional $plugin" >"$cluster/etc/plugstack.conf"
}

# The table that the plugin printed for the job's first step, as "variable  value  why".
tell_plugins_choice() {
  [[ -e $plugin ]] || return 0
  tell "The SPANK plugin has set up the job's steps for NCCL (LOCKSTEP_NCCL=show) and says why:"
  sed -n '/^nccl: /!d; s/^nccl: //; /^problem\|^advice/d; p' "$output" | awk -v indent='          ' '
    /^VARIABLE/ { if (seen++) exit }
    { print indent $0 }'
}

stop_all() {
  "$cluster_scripts/down" "$cluster"
}

on_cluster() { "$cluster_scripts/run" "$cluster" "$@"; }
as_trainer() { on_cluster "$@"; }

# job_field JOB KEY: what Slurm says about a job, as JobState or NodeList.
job_field() { on_cluster scontrol --oneliner show job "$1" | tr ' ' '\n' | sed -n "s/^$2=//p" | head -n 1; }
is_live() {
  [[ ! $(job_field "$job" JobState) =~ ^(COMPLETED|FAILED|CANCELLED|TIMEOUT|NODE_FAIL|BOOT_FAIL|DEADLINE|OUT_OF_MEMORY)$ ]]
}
is_over() { ! is_live; }

# When Slurm sent the preempted job its first signal, in seconds since 1970.
preemption_time() {
  local line
  line=$(grep -m 1 "job_signal: 15 of running JobId=$job " "$cluster/log/slurmctld.log") || return
  line=${line#[}
  date -d "${line%%]*}" +%s.%N
}

train() {
  local urgent
  tell "A Slurm cluster runs on this machine: slurmctld, munge and 4 nodes (n1 to n4)"
  prepare_work
  tell "Fashion-MNIST is imported: 60000 training and 10000 test images in HDF5 shards"
  job=$(on_cluster env LOCKSTEP_NCCL=show sbatch --parsable "$cluster/prefix/share/lockstep/sbatch/train.sbatch" "$config")
  output=$work/lockstep-$job.out
  follow 60 has_happened started
  tell "sbatch train.sbatch $config: job $job trains a small network on $(job_field "$job" NodeList), one process each"
  tell_plugins_choice
  follow 240 is_at_step "$preempt_at"

  urgent=$(on_cluster sbatch --parsable --job-name=urgent --partition=high --nodes=2 --ntasks-per-node=1 \
    --output=/dev/null --wrap='exec sleep infinity')
  tell "40 % of the steps are done. A more important job now wants 2 nodes: Slurm preempts job $job"
  follow 60 has_happened stopped
  preempted_time=$(preemption_time) || fail "Slurm's log does not tell of the preemption"
  tell "Slurm's TERM came; all ranks finished the same step, saved step $(event stopped 1) in one HDF5 file, and left"
  tell "Job $job has put itself back into the queue; Slurm lets it wait a little"
  follow 60 has_happened resumed
  [[ $(job_field "$urgent" JobState) == RUNNING ]] || fail "the urgent job does not run while the training resumes"
  tell "The urgent job holds $(job_field "$urgent" NodeList); job $job goes on on $(job_field "$job" NodeList)"
  follow 240 is_over
  [[ $(job_field "$urgent" JobState) == RUNNING ]] || fail "the urgent job ended before the training"
  on_cluster scancel "$urgent"

  [[ $(job_field "$job" JobState) == COMPLETED ]] || fail "job $job ended as $(job_field "$job" JobState)"
  [[ $(job_field "$job" Restarts) == 1 ]] || fail "job $job was restarted $(job_field "$job" Restarts) times"
  [[ $(event started 4) == "4 ranks"* && $(event resumed 4) == "2 ranks"* ]] || fail "not on 4 and then 2 ranks"
  wait_note="Saved to running again  $(difference "$(event stopped 2)" "$(event resumed 2)") s, of which Slurm \
makes a requeued job wait 5 to 6 (AuthInfo=cred_expire, 120 by default)"
  tell "Job $job is COMPLETED"
}
