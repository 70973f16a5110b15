# shellcheck shell=bash
# Runs cases side by side. Sourced by `test`, which sets scratch and row_of.
# shellcheck disable=SC2034,SC2154

# Runs one case in this subshell; a subshell of its own, not a condition: there, `set -e` would be off.
run_case() {
  local result begin=$SECONDS
  set +e
  (set -e; "case_$1") >"$scratch/$1.output" 2>&1
  result=$?
  printf '%d\n' $((SECONDS - begin)) >"$scratch/$1.seconds"
  return "$result"
}

# Mostly they wait, for MPI to start and for limits to pass: several at a time.
at_once=${TRAINING_CASES_AT_ONCE:-3}
passed=0 failed=0 skipped=0 running=0
# What a case returns, after it has said why, where it cannot run here.
skip=77
declare -A name_of
finish_one() {
  local pid result=0 name seconds
  wait -n -p pid || result=$?
  name=${name_of[$pid]} running=$((running - 1))
  seconds=$(cat "$scratch/$name.seconds") || seconds=0 # it was killed
  if ((result == 0)); then
    passed=$((passed + 1))
    # For whoever makes docs/reliability.md of it.
    [[ -z ${row_of[$name]:-} ]] || printf '%s|-\n' "${row_of[$name]}" >>"${RESULTS:-/dev/null}"
    printf 'ok - %s (%d s)\n' "${name//_/ }" "$seconds"
  elif ((result == skip)); then
    skipped=$((skipped + 1))
    printf 'skipped - %s: %s\n' "${name//_/ }" "$(tail -n 1 "$scratch/$name.output")"
  else
    failed=$((failed + 1))
    printf 'not ok - %s (%d s)\n' "${name//_/ }" "$seconds"
    tail -n 25 "$scratch/$name.output" | sed 's/^/  | /' || true
  fi
}

# run_cases NAME...: all of them, and the line that counts; succeeds where none failed.
run_cases() {
  local name
  for name in "${wanted[@]}"; do
    ((running < at_once)) || finish_one
    (trap - EXIT && run_case "$name") &
    name_of[$!]=$name running=$((running + 1))
  done
  while ((running > 0)); do finish_one; done
  printf '%d passed, %d failed' "$passed" "$failed"
  ((skipped == 0)) || printf ', %d skipped' "$skipped"
  echo
  ((failed == 0))
}
