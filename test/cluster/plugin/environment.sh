# shellcheck shell=bash
# What a task finds in its environment, and who has the say about it.
# shellcheck disable=SC2154

# `env -0`, sorted; of variables that differ from step to step by nature, only the name.
environment_of_step() { # environment_of_step JOB [OPTION...]; sets listing
  local job=$1
  shift
  ok_step --mpi=none --jobid="$job" --ntasks=1 "$@" sh -c 'env -0 | sort -z | tr "\0" "\n"'
  listing=$(sed -E 's/^(SLURM_(STEP_?ID|STEP_RESV_PORTS|STEP_LAUNCHER_PORT|SRUN_COMM_PORT|TASK_PID|LAUNCH_NODE_IPADDR))=.*/\1/' <<<"$out")
}

case_off_leaves_the_environment_as_it_is() {
  local absent listing
  without_plugin
  run_as_user salloc --no-shell --nodes=1 --ntasks=1
  job=$(grep -o 'Granted job allocation [0-9]*' <<<"$err" | grep -o '[0-9]*$')
  environment_of_step "$job"
  absent=$listing
  with_plugin
  environment_of_step "$job" --nccl=off
  is "$listing" "$absent" "environment with --nccl=off"
  LOCKSTEP_NCCL=off environment_of_step "$job"
  has "$listing" LOCKSTEP_NCCL=off
  is "$(grep -vx LOCKSTEP_NCCL=off <<<"$listing")" "$absent" "environment with LOCKSTEP_NCCL=off"
  with_plugin mode=off
  environment_of_step "$job"
  is "$listing" "$absent" "environment with mode=off"
  environment_of_step "$job" --nccl=warn
  is "$listing" "$absent" "environment with --nccl=warn"
  with_plugin
  environment_of_step "$job"
  is_not "$listing" "$absent" "environment with the plugin"
  run_as_user scancel "$job"
}

case_the_users_environment_wins() {
  with_plugin
  MASTER_PORT=1234 ok_step --ntasks=1 env
  is "$(value_in "$out" MASTER_PORT)" 1234 MASTER_PORT
  is "$(value_in "$out" MASTER_ADDR)" n1 MASTER_ADDR
}

case_options_win_over_the_environment() {
  with_plugin
  MASTER_PORT=1234 NCCL_DEBUG=WARN ok_step --ntasks=1 \
    --nccl-set=MASTER_PORT=77,NCCL_IB_HCA==mlx5_0,mlx5_1 --nccl-unset=NCCL_DEBUG,NCCL_RAS_ADDR env
  is "$(value_in "$out" MASTER_PORT)" 77 MASTER_PORT
  is "$(value_in "$out" NCCL_IB_HCA)" =mlx5_0,mlx5_1 NCCL_IB_HCA
  has_lines "$out" 0 '^NCCL_DEBUG='
  has_lines "$out" 0 '^NCCL_RAS_ADDR='
}

case_variables_do_what_options_do() {
  with_plugin
  LOCKSTEP_NCCL=show LOCKSTEP_NCCL_SET=MASTER_PORT=77 LOCKSTEP_NCCL_UNSET=NCCL_RAS_ADDR ok_step --ntasks=1 env
  is "$(value_in "$out" MASTER_PORT)" 77 MASTER_PORT
  has_lines "$out" 0 '^NCCL_RAS_ADDR='
  has "$err" 'nccl: MASTER_PORT'
}

case_the_users_nccl_conf_wins_over_the_rule() {
  with_plugin
  printf 'NCCL_RAS_ADDR=localhost:9\n' >"$cluster/home/.nccl.conf"
  ok_step --ntasks=1 env
  has_lines "$out" 0 '^NCCL_RAS_ADDR='
  # NCCL reads this file instead of the other.
  printf 'NCCL_DEBUG=WARN\n' >"$cluster/work/nccl.conf"
  NCCL_CONF_FILE=$cluster/work/nccl.conf ok_step --ntasks=1 env
  has_lines "$out" 1 '^NCCL_RAS_ADDR='
  rm "$cluster/home/.nccl.conf"
  ok_step --ntasks=1 env
  has_lines "$out" 1 '^NCCL_RAS_ADDR='
}

case_a_file_of_nccls_that_cannot_be_read_is_told_of() {
  local conf=$cluster/home/.nccl.conf
  with_plugin
  "$plugin_here/../run" "$cluster" mkfifo "$conf"
  ok_step --nodelist=n[1-2] --ntasks=4 true
  has_lines "$err" 1 "^nccl: problem on n1: '.*/.nccl.conf' is a pipe: NCCL would read from it"
  has_lines "$err" 1 "^nccl: problem on n2: "
  step --ntasks=1 --nccl=strict echo ran
  is_not "$code" 0 "exit code in strict"
  rm "$conf"
  install -m 600 /dev/null "$conf"
  ok_step --ntasks=1 true
  has_lines "$err" 1 "^nccl: advice on n1: '.*/.nccl.conf' cannot be opened: Permission denied: NCCL goes on without it"
  mkfifo "$cluster/work/pipe"
  ok_step --ntasks=1 --nccl-set="NCCL_CONF_FILE=$cluster/work/pipe" true
  has_lines "$err" 1 "^nccl: problem on n1: '.*/pipe' is a pipe"
  NCCL_CONF_FILE=/dev/null ok_step --ntasks=1 true
  has_not "$err" 'conf'
  rm "$conf" "$cluster/work/pipe"
}

case_without_exports_the_plugin_still_sets_up() {
  with_plugin
  ok_step --nodes=2 --ntasks=2 --export=NONE --nccl=show --nccl-set=NCCL_DEBUG=INFO /usr/bin/env
  has_lines "$out" 2 '^MASTER_ADDR=n1$'
  has_lines "$out" 2 '^NCCL_DEBUG=INFO$'
  has "$err" 'nccl: MASTER_ADDR'
}

case_a_batch_script_holds_nothing_and_its_steps_do() {
  with_plugin
  user_script batch <<'SCRIPT'
#!/bin/bash
env | sed 's/^/batch /'
srun --nodes=1 --ntasks=1 --nodelist=n2 --export=ALL env | sed 's/^/step /'
echo finished
SCRIPT
  submit batch --nodelist=n[1-2] --ntasks=2
  await_job batch
  has_lines "$out" 0 '^batch \(MASTER_\|NCCL_\|LOCKSTEP_NCCL\|RANK=\)'
  has_lines "$out" 1 '^step MASTER_ADDR=n2$'
}

# The outer step's second task starts a step on its own node: what it has inherited is not the user's word.
case_a_step_inside_a_step_gets_values_of_its_own() {
  local port
  with_plugin
  user_script outer <<'SCRIPT'
#!/bin/bash
((SLURM_PROCID == 1)) || exit 0
echo "outer $MASTER_ADDR $MASTER_PORT"
srun --overlap --mpi=none --nodes=1 --ntasks=1 --nodelist=n2 ./tell
MASTER_PORT=1234 srun --overlap --mpi=none --nodes=1 --ntasks=1 --nodelist=n2 ./tell
SCRIPT
  ok_step --mpi=none --nodelist=n[1-2] --ntasks=2 --nodes=2 ./outer
  port=$(awk '$1 == "outer" { print $3 }' <<<"$out")
  has "$out" 'outer n1 '
  out=$(grep -v outer <<<"$out")
  is "$(wc -l <<<"$out")" 2 "inner steps"
  is "$(column 3)" n2 "MASTER_ADDR of the inner steps"
  has_not "$(sed -n 1p <<<"$out")" " $port "
  has "$(sed -n 2p <<<"$out")" ' n2 1234 '
}

case_the_table_is_shown_once_by_rank_0() {
  with_plugin
  ok_step --nodes=2 --ntasks=4 --nccl=show true
  has_lines "$err" 1 '^nccl: MASTER_ADDR .*n1'
  has_lines "$err" 1 '^nccl: VARIABLE '
  ok_step --nodes=2 --ntasks=4 true
  has_not "$err" 'nccl: MASTER_ADDR'
}

case_a_job_that_is_submitted_from_a_step_holds_nothing_of_the_step() {
  with_plugin
  user_script from_a_step <<'SCRIPT'
#!/bin/bash
env | grep -E '^(MASTER_|RANK=|NCCL_|GLOO_|LOCKSTEP_NCCL)'
echo finished
SCRIPT
  # shellcheck disable=SC2016
  ok_step --nodes=1 --ntasks=1 --nccl-torch=on bash -c \
    'echo "$RANK $MASTER_PORT"; exec sbatch --quiet --output=from_a_step.out --ntasks=1 ./from_a_step'
  has "$out" "0 2"
  await_job from_a_step
  is "$out" finished "the script's environment"
}
