# shellcheck shell=bash
# Options: what is refused before anything starts, and how they reach the steps of a job.
# shellcheck disable=SC2154

refused() { # refused TEXT OPTION...
  local text=$1
  shift
  step "$@" --ntasks=1 echo ran
  is_not "$code" 0 "exit code with $*"
  is "$out" "" "output with $*"
  has "$err" "$text"
}

case_wrong_options_are_refused_before_anything_starts() {
  with_plugin
  refused 'nccl: --nccl=of: want one of auto, off, show, warn, strict' --nccl=of
  refused 'nccl: --nccl-set=a=1: want KEY=VALUE' --nccl-set=a=1
  refused 'write one: --nccl-set=A=1,B=2' --nccl-set=A=1 --nccl-set=B=2
  refused 'write one: --nccl-unset=A,B' --nccl-unset=A --nccl-unset=B
  refused 'nccl: --nccl-torch=yes: want one of auto, on, off' --nccl-torch=yes
  ok_step --ntasks=1 --nccl-set=A=1 --nccl-set=A=1 --nccl=off --nccl=show env
  is "$(value_in "$out" A)" 1 A
}

case_a_command_that_contradicts_itself_is_refused_before_anything_starts() {
  local plugin
  for plugin in with_plugin with_required_plugin; do
    "$plugin"
    refused 'A is both set and unset' --nccl-set=A=1 --nccl-unset=A
    refused 'A is both set and unset' --nccl-unset=B,A --nccl-set=B1=1,A=1
    run_as_user sbatch --nccl-set=A=1 --nccl-unset=A --wrap 'echo ran'
    is_not "$code" 0 "exit code of sbatch"
    has "$err" 'A is both set and unset'
  done
}

# A mode that is none may have been meant to be `off`.
case_a_mode_that_is_none_sets_nothing_and_is_told_once_per_node() {
  local plugin
  for plugin in with_plugin with_required_plugin; do
    "$plugin" mode=strict kill_on_bad_exit=yes
    LOCKSTEP_NCCL=offf ok_step --nodelist=n[1-2] --ntasks=4 --ntasks-per-node=2 \
      sh -c './tell; printenv SLURM_KILL_BAD_EXIT || true'
    is "$(sort <<<"$out")" $'0 n1   \n1 n1   \n2 n2   \n3 n2   ' "output with LOCKSTEP_NCCL=offf"
    has_lines "$err" 2 offf
    has_lines "$err" 1 "^nccl: problem on n1: LOCKSTEP_NCCL=offf: want one of .*strict (did you mean 'off'?); nothing"
    has_lines "$err" 1 '^nccl: problem on n2: LOCKSTEP_NCCL=offf: '
  done
  with_plugin
  LOCKSTEP_NCCL_TORCH=onn ok_step --ntasks=1 ./tell
  has "$out" '0 n1 n1 '
  has_lines "$err" 1 onn
  has "$err" "want one of auto, on, off (did you mean 'on'?); what it asked for is left out"
}

case_modes_are_words_in_any_case() {
  with_plugin mode=OFF
  LOCKSTEP_NCCL=OFF ok_step --ntasks=1 ./tell
  is "$out$err" '0 n1   ' "what the task tells with LOCKSTEP_NCCL=OFF"
  ok_step --ntasks=1 ./tell
  is "$out$err" '0 n1   ' "what the task tells with mode=OFF"
  ok_step --ntasks=1 --nccl=Show --nccl-torch=ON printenv RANK
  is "$out" 0 RANK
  has "$err" 'nccl: MASTER_ADDR'
}

case_sbatch_and_salloc_refuse_wrong_options_too() {
  with_required_plugin
  user_script never <<'SCRIPT'
#!/bin/bash
echo ran
SCRIPT
  run_as_user sbatch --nccl=of ./never
  is_not "$code" 0 "exit code of sbatch"
  has "$err" 'nccl: --nccl=of: want one of'
  LOCKSTEP_NCCL_SET=a run_as_user salloc --ntasks=1 true
  is_not "$code" 0 "exit code of salloc"
  has "$err" 'nccl: LOCKSTEP_NCCL_SET=a: want KEY=VALUE'
}

case_a_jobs_options_reach_its_steps_and_a_step_has_the_last_word() {
  with_plugin
  user_script inner <<'SCRIPT'
#!/bin/bash
srun --ntasks=1 env | sed 's/^/plain /'
srun --ntasks=1 --nccl=show --nccl-set=A=2 env 2>&1 | sed 's/^/own /'
srun --ntasks=1 --nccl=auto --nccl-set=A=2 --nccl-set=B=3 env 2>&1 | sed 's/^/twice /'
srun --ntasks=1 --nccl=auto env 2>&1 | sed 's/^/auto /'
echo finished
SCRIPT
  submit inner --ntasks=1 --nccl=off --nccl-set=A=1
  await_job inner
  has_lines "$out" 0 '^plain \(MASTER_ADDR\|A=\)'
  has_lines "$out" 1 '^own MASTER_ADDR='
  has_lines "$out" 1 '^own nccl: MASTER_ADDR '
  has_lines "$out" 1 '^own A=2$'
  has "$out" 'twice srun: error: nccl: --nccl-set is given twice'
  has_lines "$out" 1 '^auto A=1$'
}

# Per key, and in silence: also where the job drops its environment.
case_an_inner_commands_option_wins_over_its_jobs() {
  local strict
  with_plugin
  user_script keys <<'SCRIPT'
#!/bin/bash
srun --ntasks=1 --nccl-unset=NCCL_DEBUG env 2>&1 | sed 's/^/unset /'
srun --ntasks=1 --export=NONE --nccl-unset=NCCL_DEBUG /usr/bin/env 2>&1 | sed 's/^/none /'
srun --ntasks=1 --nccl-set=B=2 env 2>&1 | sed 's/^/set /'
echo finished
SCRIPT
  for strict in auto strict; do
    submit keys --ntasks=1 --nccl="$strict" --nccl-set=NCCL_DEBUG=INFO,A=1 --nccl-unset=B
    await_job keys
    has_not "$out" 'both set and unset'
    for name in unset none; do
      has_lines "$out" 0 "^$name NCCL_DEBUG="
      has_lines "$out" 1 "^$name A=1$"
    done
    has_lines "$out" 1 '^set B=2$'
    run_as_user salloc --quiet --ntasks=1 --nccl="$strict" --nccl-set=NCCL_DEBUG=INFO,A=1 --nccl-unset=B ./keys
    is "$code" 0 "exit code of salloc"
    has_not "$out$err" 'both set and unset'
    has_lines "$out" 0 '^unset NCCL_DEBUG='
    has_lines "$out" 1 '^unset A=1$'
    has_lines "$out" 1 '^set B=2$'
  done
}
