# shellcheck shell=bash
# The site's own files: profiles, plugstack.conf, and everything that can be wrong with them.
# shellcheck disable=SC2154

# A step that runs although the site's file is wrong, says so once per node, sets nothing, and fails in strict.
runs_and_tells_of() { # runs_and_tells_of TEXT
  ok_step --nodelist=n[1-2] --ntasks=4 env
  has_lines "$out" 0 '^MASTER_ADDR='
  has_lines "$err" 1 "^nccl: problem on n1: nothing was set up: $1"
  has_lines "$err" 1 "^nccl: problem on n2: nothing was set up: $1"
  step --ntasks=1 --nccl=strict echo ran
  is_not "$code" 0 "exit code in strict"
  is "$out" "" "output in strict"
  has "$err" 'nccl: problem on n1: nothing was set up'
  # Of nothing there is no table.
  ok_step --ntasks=1 --nccl=show true
  has_lines "$err" 1 '^nccl: '
  ok_step --ntasks=1 --nccl=off true
  is "$err" "" "standard error with --nccl=off"
}

case_a_profile_sets_up_its_nodes() {
  site_file profiles.conf <<'CONF'
[profile second]
match = node:n2
mode = off

[profile all]
match = node:n*
NCCL_IB_TIMEOUT = 22
CONF
  with_plugin "config=$cluster/etc/profiles.conf"
  ok_step --nodelist=n[1-2] --ntasks=2 sh -c './tell; env'
  has_lines "$out" 1 '^0 n1 n1 [0-9]'
  has_lines "$out" 1 '^1 n2   $'
  has_lines "$out" 1 '^NCCL_IB_TIMEOUT=22$'
  # Nobody is asked where the user has said what to do.
  ok_step --nodelist=n2 --ntasks=1 --nccl=auto ./tell
  has "$out" '0 n2 n2 '
}

case_a_profile_wins_over_nccl_conf_of_the_node() {
  site_file root-n1/etc/nccl.conf <<'CONF'
NCCL_IB_TIMEOUT=20
NCCL_RAS_ADDR=localhost:9
CONF
  with_plugin "config=$cluster/etc/profiles.conf root=$cluster/etc/root-%n"
  ok_step --nodes=1 --nodelist=n1 --ntasks=1 env
  is "$(value_in "$out" NCCL_IB_TIMEOUT)" 22 NCCL_IB_TIMEOUT
  has_lines "$out" 0 '^NCCL_RAS_ADDR='
  ok_step --nodelist=n3 --ntasks=1 env
  has_lines "$out" 1 '^NCCL_RAS_ADDR='
}

case_a_broken_configuration_stops_no_job() {
  site_file broken.conf <<'CONF'
[profile all]
match = node:n*
interfase = eth0
CONF
  with_plugin "config=$cluster/etc/broken.conf"
  runs_and_tells_of "$cluster/etc/broken.conf:3: "
}

case_a_missing_configuration_stops_no_job() {
  with_plugin "config=$cluster/etc/missing.conf"
  runs_and_tells_of ".*$cluster/etc/missing.conf"
}

case_a_configuration_that_others_could_write_is_not_read() {
  install -m 644 -o "$(stat -c %U "$cluster/work")" "$cluster/etc/profiles.conf" "$cluster/etc/foreign.conf"
  with_plugin "config=$cluster/etc/foreign.conf"
  runs_and_tells_of ".*$cluster/etc/foreign.conf"
  install -m 664 "$cluster/etc/profiles.conf" "$cluster/etc/group.conf"
  with_plugin "config=$cluster/etc/group.conf"
  runs_and_tells_of ".*$cluster/etc/group.conf"
}

case_an_unknown_argument_is_refused_by_srun_and_sbatch() {
  local arguments
  for arguments in confg=/etc/x mode=of kill_on_bad_exit=maybe config=relative.conf 'mode=auto "x"'; do
    with_required_plugin "$arguments"
    step --ntasks=1 echo ran
    is_not "$code" 0 "exit code with $arguments"
    is "$out" "" "output with $arguments"
    has "$err" 'nccl: plugstack.conf: '
  done
  run_as_user sbatch --wrap 'echo ran'
  is_not "$code" 0 "exit code of sbatch"
  has "$err" "nccl: plugstack.conf: unknown argument '\"x\"'"
}

case_an_optional_plugin_with_an_unknown_argument_does_nothing() {
  with_plugin confg=/etc/x
  ok_step --ntasks=1 ./tell
  is "$out" "0 n1   " "what the task tells"
  has "$err" "srun: error: nccl: plugstack.conf: unknown argument 'confg=/etc/x'"
}

# The commands of the user read a plugstack.conf of their own, as on a login node of another admin.
from_login_node() { # from_login_node PLUGSTACK-TEXT COMMAND...
  printf '%s\n' "$1" >"$cluster/etc/login_plugstack.conf"
  sed "s|^PlugStackConfig=.*|PlugStackConfig=$cluster/etc/login_plugstack.conf|" "$cluster/etc/slurm.conf" \
    >"$cluster/etc/login_slurm.conf"
  run_as_user env SLURM_CONF="$cluster/etc/login_slurm.conf" "${@:2}"
}

case_an_unknown_argument_on_a_node_costs_neither_job_nor_node() {
  local before
  with_required_plugin confg=/etc/x
  before=$(grep -c "unknown argument 'confg=/etc/x'" "$cluster/log/n1.log") || true
  from_login_node '' srun --nodelist=n1 --ntasks=1 ./tell
  is "$code" 0 "exit code"
  is "$out" "0 n1   " "what the task tells"
  is_not "$(grep -c "unknown argument 'confg=/etc/x'" "$cluster/log/n1.log")" "$before" "lines in the node's log"
  from_login_node "required $cluster/etc/spank_lockstep.so" srun --nccl=strict --nodelist=n1 --ntasks=1 ./tell
  is "$code" 0 "exit code in strict"
  is "$out" "0 n1   " "what the task tells in strict"
}

# A job that comes by REST is checked by nobody before it starts.
case_wrong_variables_that_nobody_has_checked_are_told_of_on_the_node() {
  with_plugin
  LOCKSTEP_NCCL_TORCH=loud LOCKSTEP_NCCL_SET=MASTER_PORT=7 from_login_node '' srun --nodelist=n[1-2] --ntasks=2 env
  is "$code" 0 "exit code"
  has_lines "$out" 2 '^MASTER_PORT=7$'
  has_lines "$err" 1 '^nccl: problem on n1: LOCKSTEP_NCCL_TORCH=loud: want one of'
  has_lines "$err" 1 '^nccl: problem on n2: LOCKSTEP_NCCL_TORCH=loud: want one of'
  LOCKSTEP_NCCL=strict LOCKSTEP_NCCL_SET=a from_login_node '' srun --ntasks=1 echo ran
  is_not "$code" 0 "exit code in strict"
  is "$out" "" "output in strict"
}

case_strict_ends_the_tasks_of_a_node_with_a_problem_and_says_so() {
  site_file strict/n1/etc/nccl.conf <<<"NCCL_DEBUG=WARN"
  site_file strict/n2/etc/nccl.conf <<<"NCCL_GRAPH_FILE=/opt/graph.xml"
  with_plugin "root=$cluster/etc/strict/%n"
  step --nodelist=n[1-2] --ntasks-per-node=1 --nccl=strict ./tell
  is "$code" 1 "exit code"
  has_lines "$out" 1 '^0 n1 '
  has_lines "$out" 0 '^1 n2 '
  has_lines "$err" 1 '^nccl: problem on n2: NCCL_GRAPH_FILE'
  has_lines "$err" 1 '^nccl: strict: the tasks on n2 end before their program starts; those on other nodes go on'
}
