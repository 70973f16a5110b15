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

# Options together and variables: refused by a required plugin; an optional one tells, and leaves them out.
case_contradictions_and_wrong_variables_are_refused_or_told_of() {
  with_required_plugin
  refused 'A is both set and unset' --nccl-set=A=1 --nccl-unset=A
  LOCKSTEP_NCCL=loud refused 'nccl: LOCKSTEP_NCCL=loud: want one of'
  with_plugin
  LOCKSTEP_NCCL=loud ok_step --ntasks=1 ./tell
  has "$out" '0 n1 n1 '
  has "$err" 'srun: error: nccl: LOCKSTEP_NCCL=loud: want one of'
  has "$err" 'nccl: problem on n1: LOCKSTEP_NCCL=loud: want one of'
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
