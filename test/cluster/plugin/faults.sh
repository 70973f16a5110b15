# shellcheck shell=bash
# Exceptions in every callback, and what the plugin shows to Slurm.
# shellcheck disable=SC2154

case_the_plugin_exports_what_slurm_asks_for_and_no_more() {
  is "$(nm -D --defined-only "$build/spank_lockstep.so" | awk '{ print $3 }' | sort | xargs)" \
    "plugin_name plugin_type plugin_version slurm_spank_init slurm_spank_init_post_opt slurm_spank_task_init spank_plugin_version" \
    "exported symbols"
  is "$(ldd "$build/spank_lockstep.so" | grep -c 'libstdc++\|libgcc\|not found\|libslurm')" 0 "libraries of a site"
  is "$(nm -D --undefined-only "$build/spank_lockstep.so" | grep -c lockstep)" 0 "symbols that are missing"
  # A site's plugin knows no faults.
  with_required_plugin throw=init
  step --ntasks=1 true
  is_not "$code" 0 "exit code with an argument of the tests"
}

# Without a fault the variant is the plugin.
case_the_variant_with_faults_works_like_the_plugin() {
  with_faulty_plugin throw=none
  ok_step --ntasks=1 --nccl=auto ./tell
  has "$out" '0 n1 n1 '
  is "$err" "" "standard error"
}

# And what the line says is true: nothing was set up.
case_an_exception_in_any_callback_ends_no_step() {
  local callback kind begin
  for callback in init option init_post_opt task_init; do
    for kind in std int; do
      begin=$SECONDS
      with_faulty_plugin "throw=$callback:$kind"
      ok_step --nodelist=n[1-2] --ntasks=2 --nccl=auto ./tell
      is "$(sort <<<"$out")" $'0 n1   \n1 n2   ' "output with a fault in $callback:$kind"
      has "$err" "nccl: $callback failed, nothing was set up: "
      ((SECONDS - begin < 10)) || fail "the step took $((SECONDS - begin)) s with a fault in $callback:$kind"
      is "$(lost_nodes)" "" "nodes out of service with a fault in $callback:$kind"
    done
  done
}

case_an_exception_in_any_callback_ends_no_batch_job() {
  local callback
  user_script survivor <<'SCRIPT'
#!/bin/bash
srun --ntasks=1 echo ran
echo finished
SCRIPT
  for callback in init option init_post_opt task_init; do
    with_faulty_plugin "throw=$callback"
    submit survivor --nccl=auto --ntasks=1
    await_job survivor
    has_lines "$out" 1 '^ran$'
    is "$(lost_nodes)" "" "nodes out of service with a fault in $callback"
  done
}

case_an_exception_in_task_init_fails_the_step_in_strict() {
  with_faulty_plugin throw=task_init
  step --ntasks=1 --nccl=strict echo ran
  is "$code" 1 "exit code"
  is "$out" "" "output"
  has "$err" 'nccl: task_init failed, nothing was set up: a fault that was asked for'
  with_faulty_plugin throw=task_init:int mode=strict
  step --ntasks=1 echo ran
  is "$code" 1 "exit code with mode=strict"
}
