# shellcheck shell=bash
# Where the tasks of a step meet: one address and one port, the same for all, and no other step's.
# shellcheck disable=SC2154

# Waits in a step until the N steps that run it at the same time have told their ports: `meet NAME N`.
make_meeting() {
  user_script meet <<'SCRIPT'
#!/bin/bash
mkdir -p "meeting.$1"
echo "$MASTER_PORT $NCCL_RAS_ADDR" >"meeting.$1/$SLURM_JOB_ID.$SLURM_STEP_ID"
for ((i = 0; i < 200; ++i)); do
  files=("meeting.$1"/*)
  ((${#files[@]} < $2)) || exit 0
  sleep 0.1
done
exit 1
SCRIPT
}

# All ports, of MASTER_PORT and NCCL_RAS_ADDR, are different.
ports_differ() { # ports_differ NAME NUMBER
  local number
  number=$(cat "$cluster/work/meeting.$1"/* | tr ' ' '\n' | sed 's/^localhost://' | sort -u | grep -c '^[0-9]\+$')
  is "$number" "$2" "different ports in $(cat "$cluster/work/meeting.$1"/*)"
}

case_without_the_plugin_there_is_no_rendezvous() {
  without_plugin
  ok_step --ntasks=1 ./tell
  is "$out" "0 n1   " "what the task tells"
}

# The job is requeued by itself, and looked at by the last case of this file: it waits five seconds to start again.
case_a_requeued_job_starts() {
  with_plugin
  user_script requeued <<'SCRIPT'
#!/bin/bash
srun --resv-ports=0 --ntasks=1 ./tell | sed 's/^/told /'
((${SLURM_RESTART_COUNT:-0} == 0)) || { echo finished && exit; }
scontrol requeue "$SLURM_JOB_ID"
sleep 60
SCRIPT
  submit requeued --nodes=1 --ntasks=1 --open-mode=append --requeue
  poll_for 20 grep -qs '^told 0' "$cluster/work/requeued.out" || fail "its step has not started after 20 s"
}

case_all_tasks_have_one_address_and_the_first_reserved_ports() {
  local first
  with_plugin
  # shellcheck disable=SC2016
  ok_step --nodes=4 --ntasks=8 sh -c 'echo "$(./tell) $SLURM_STEP_RESV_PORTS"'
  is "$(wc -l <<<"$out")" 8 "tasks"
  is "$(column 3)" n1 "MASTER_ADDR"
  first=$(awk 'NR == 1 { print $6 }' <<<"$out" | grep -o '^[0-9]*')
  is "$(column 4)" "$first" "MASTER_PORT"
  is "$(column 5)" "localhost:$((first + 1))" "NCCL_RAS_ADDR"
}

case_the_address_is_rank_0s_node_in_every_distribution() {
  local distribution rank0
  with_plugin
  for distribution in block cyclic plane=2; do
    ok_step --nodelist=n[2-4] --nodes=3 --ntasks=6 --distribution="$distribution" ./tell
    rank0=$(awk '$1 == 0 { print $2 }' <<<"$out")
    is "$(column 3)" "$rank0" "MASTER_ADDR with $distribution"
  done
  printf 'n3\nn1\nn3\n' >"$cluster/work/hosts"
  SLURM_HOSTFILE='' run_as_user env SLURM_HOSTFILE="$cluster/work/hosts" \
    srun --nodes=2 --ntasks=3 --distribution=arbitrary ./tell
  is "$code" 0 "exit code with arbitrary"
  is "$(awk '$1 == 0 { print $2 }' <<<"$out")" n3 "rank 0's node with arbitrary"
  is "$(column 3)" n3 "MASTER_ADDR with arbitrary"
}

case_a_heterogeneous_job_meets_at_its_first_component() {
  with_plugin
  ok_step --mpi=none --nodelist=n3 --ntasks=1 ./tell : --nodelist=n[1-2] --ntasks=2 --nodes=2 ./tell
  is "$(column 1)" "0 1 2" "ranks"
  is "$(column 3)" n3 "MASTER_ADDR"
  is "$(column 4 | wc -w)" 1 "ports: $(column 4)"
}

case_overlapping_steps_of_a_job_have_ports_of_their_own() {
  with_plugin
  make_meeting
  user_script overlap <<'SCRIPT'
#!/bin/bash
srun --overlap --ntasks=1 ./meet overlap 2 &
srun --overlap --ntasks=1 ./meet overlap 2 &
wait -n && wait -n && echo finished
SCRIPT
  submit overlap --nodes=1 --ntasks=1
  await_job overlap
  ports_differ overlap 4
}

case_array_tasks_on_one_node_have_ports_of_their_own() {
  with_plugin
  make_meeting
  user_script array <<'SCRIPT'
#!/bin/bash
srun --ntasks=1 ./meet array 2 && echo finished
SCRIPT
  submit array --array=1-2 --nodelist=n2 --ntasks=1
  await_job array
  ports_differ array 4
}

case_two_jobs_on_one_node_have_ports_of_their_own() {
  local other=0
  with_plugin
  make_meeting
  (ok_step --nodelist=n1 --ntasks=1 ./meet jobs 2) &
  ok_step --nodelist=n1 --ntasks=1 ./meet jobs 2
  wait "$!" || other=$?
  is "$other" 0 "exit code of the other job"
  ports_differ jobs 4
}

case_a_requeued_job_has_another_port() {
  await_job requeued
  out=$(sed -n 's/^told //p' <<<"$out")
  is "$(wc -l <<<"$out")" 2 "starts"
  is "$(column 4 | wc -w)" 2 "ports of the two starts: $(column 4)"
  is "$(awk 'NF == 5' <<<"$out" | wc -l)" 2 "complete lines"
}
