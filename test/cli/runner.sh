#!/usr/bin/env bash
# The runner itself: test/run must not take a suite that fails, dies, hangs or runs nothing for a good one.
# shellcheck source=checks.bash
source "$(dirname "${BASH_SOURCE[0]}")/checks.bash"
cd "$root"

# ends_with CODE LAST-LINE SCRIPT: runs the suite "unit" with SCRIPT as its program.
ends_with() {
  local wanted=$1 line=$2 got=0 output fake=$scratch/fake
  mkdir -p "$fake/test/unit"
  printf '#!/bin/sh\n%s\n' "$3" >"$fake/test/unit/tests"
  chmod +x "$fake/test/unit/tests"
  output=$(BUILD=$fake test/run unit 2>&1) || got=$?
  [[ $(tail -n 1 <<<"$output") == "$line" ]] && ((got == wanted)) && return
  printf 'exit code %d, wanted %d; wanted last line: %s\n%s\n' "$got" "$wanted" "$line" "$output"
  return 1
}

check "Catch2: all passed" ends_with 0 '5 passed, 0 failed' 'echo "All tests passed (12 assertions in 5 test cases)"'
check "Catch2: one test case" ends_with 0 '1 passed, 0 failed' 'echo "All tests passed (1 assertion in 1 test case)"'
check "Catch2: in colours" ends_with 0 '5 passed, 0 failed' \
  'printf "\033[1;32mAll tests passed\033[0m (12 assertions in 5 test cases)\n"'
check "Catch2: some failed" ends_with 1 '3 passed, 1 failed' \
  'echo "test cases:  4 |  3 passed | 1 failed"; echo "assertions: 20 | 19 passed | 1 failed"; exit 1'
check "Catch2: all failed" ends_with 1 '0 passed, 2 failed' \
  'echo "test cases: 2 | 2 failed"; echo "assertions: 2 | 2 failed"; exit 2'
check "Catch2: failed as expected" ends_with 1 '2 passed, 1 failed' \
  'echo "test cases: 3 | 1 passed | 1 failed | 1 failed as expected"; exit 1'
check "Catch2: no tests" ends_with 1 '0 passed, 1 failed' 'echo "No tests ran"'
check "a suite in bash" ends_with 1 '3 passed, 2 failed' 'echo "3 passed, 2 failed"; exit 1'
check "skipped tests are told" ends_with 0 '3 passed, 0 failed, 1 skipped' 'echo "3 passed, 0 failed, 1 skipped"'
check "nothing but skipped tests is no success" ends_with 1 '0 passed, 0 failed, 2 skipped' \
  'echo "0 passed, 0 failed, 2 skipped"'
check "no output" ends_with 1 '0 passed, 1 failed' 'exit 0'
check "a crash before the summary" ends_with 1 '0 passed, 1 failed' 'kill -SEGV $$'
check "a crash after the summary" ends_with 1 '3 passed, 1 failed' 'echo "3 passed, 0 failed"; kill -SEGV $$'
check "a bad exit code without a failed test" ends_with 1 '3 passed, 1 failed' 'echo "3 passed, 0 failed"; exit 9'
check "failed tests with exit code 0" ends_with 1 '3 passed, 1 failed' 'echo "3 passed, 1 failed"'
rm -r "$scratch/fake/test"
check "a missing program" exits 1 env BUILD="$scratch/fake" test/run unit
check "is told by name" says 'unit/tests' env BUILD="$scratch/fake" test/run unit
check "an unknown suite is a usage error" complains 64 "no suite 'units'" test/run units
check "one unknown among known runs nothing" complains 64 "no suite 'units'" test/run unit units
export TEST_LIMIT=1
check "a suite that hangs is ended" ends_with 1 '2 passed, 1 failed' 'echo "2 passed, 0 failed"; sleep 60'
check "and its limit is told" says 'ended after its limit of 1 s' env BUILD="$scratch/fake" test/run unit
summary
