# shellcheck shell=bash
# Limits, GPUs, and the end of a step.
# shellcheck disable=SC2154

locked_memory() { # locked_memory OPTION...: with a shell's low limit that travels with the job
  # shellcheck disable=SC2016
  run_as_user bash -c 'ulimit -l 64 && exec srun --ntasks=1 "$@" bash -c "ulimit -l"' bash "$@"
  is "$code" 0 "exit code with $*"
}

case_a_low_limit_on_locked_memory_is_lifted() {
  local own
  with_plugin
  own=$(ulimit -H -l)
  [[ $own == unlimited || $own -gt 64 ]] || fail "this test needs a limit above 64 kB, have $own"
  locked_memory --nccl=off
  is "$out" 64 "limit with --nccl=off"
  locked_memory --nccl=auto
  is_not "$out" 64 "limit with --nccl=auto"
  locked_memory --nccl=auto --propagate=MEMLOCK
  is "$out" 64 "limit that was asked for"
}

case_one_visible_gpu_per_task_is_told_of() {
  with_plugin
  # shellcheck disable=SC2016
  ok_step --nodes=1 --ntasks=4 --gpus-per-task=1 sh -c 'echo "$SLURM_PROCID $CUDA_VISIBLE_DEVICES"'
  is "$(column 2)" "0 1 2 3" "GPUs of the tasks"
  has_lines "$err" 1 '^nccl: advice on n1: each task sees one GPU only'
  # shellcheck disable=SC2016
  ok_step --nodes=1 --ntasks=4 --gres=gpu:4 sh -c 'echo "$SLURM_PROCID $CUDA_VISIBLE_DEVICES"'
  is "$(column 2)" "0,1,2,3" "GPUs of the tasks"
  has_not "$err" 'sees one GPU'
}

case_kill_on_bad_exit_ends_a_step_whose_task_fails() {
  local begin=$SECONDS
  with_plugin kill_on_bad_exit=yes
  # shellcheck disable=SC2016
  step --ntasks=2 sh -c '[ "$SLURM_PROCID" = 0 ] || exit 3; sleep 25'
  is_not "$code" 0 "exit code"
  ((SECONDS - begin < 15)) || fail "the step went on for $((SECONDS - begin)) s"
}

case_kill_on_bad_exit_leaves_the_users_word_alone() {
  with_plugin kill_on_bad_exit=yes
  ok_step --ntasks=1 printenv SLURM_KILL_BAD_EXIT
  is "$out" 1 SLURM_KILL_BAD_EXIT
  run_as_user env SLURM_KILL_BAD_EXIT=0 srun --ntasks=1 printenv SLURM_KILL_BAD_EXIT
  is "$out" 0 SLURM_KILL_BAD_EXIT
  LOCKSTEP_NCCL=off step --ntasks=1 printenv SLURM_KILL_BAD_EXIT
  is "$out" "" SLURM_KILL_BAD_EXIT
  with_plugin kill_on_bad_exit=no
  step --ntasks=1 printenv SLURM_KILL_BAD_EXIT
  is "$out" "" SLURM_KILL_BAD_EXIT
}
