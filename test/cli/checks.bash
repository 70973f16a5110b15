# shellcheck shell=bash
# What the suites of this folder share; sourced, never run. A suite ends by calling `summary`.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(cd "$root" && realpath "${BUILD:-build}")
# shellcheck disable=SC2034 # for the suites
lockstep=$build/lockstep
cd "$root"
# shellcheck source=../environment.bash
source test/environment.bash
# shellcheck source=../poll.bash
source test/poll.bash
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

passed=0 failed=0

# check WHAT COMMAND...: counts whether COMMAND succeeds, and shows its output where it does not.
check() {
  local what=$1
  shift
  if "$@" >"$scratch/check-output" 2>&1; then
    passed=$((passed + 1))
    printf 'ok - %s\n' "$what"
  else
    failed=$((failed + 1))
    printf 'not ok - %s\n' "$what"
    sed 's/^/  | /' "$scratch/check-output"
  fi
}

fails() { ! "$@"; }

# exits CODE COMMAND...: does COMMAND end with this exit code?
exits() {
  local wanted=$1 got=0
  shift
  "$@" || got=$?
  ((got == wanted)) || { echo "exit code $got, not $wanted" && return 1; }
}

# says TEXT COMMAND...: is TEXT in what COMMAND prints, on whichever stream? The exit code is not looked at.
says() {
  local text=$1 output
  shift
  output=$("$@" 2>&1) || true
  [[ $output == *"$text"* ]] || { printf "no '%s' in:\n%s\n" "$text" "$output" && return 1; }
}

# complains CODE TEXT COMMAND...: both, and nothing on standard output.
complains() {
  local wanted=$1 text=$2 got=0 output
  shift 2
  output=$("$@" 2>&1 >"$scratch/stdout") || got=$?
  ((got == wanted)) || { printf 'exit code %d, not %d:\n%s\n' "$got" "$wanted" "$output" && return 1; }
  [[ $output == *"$text"* ]] || { printf "no '%s' in:\n%s\n" "$text" "$output" && return 1; }
  [[ ! -s $scratch/stdout ]] || { echo "standard output:" && cat "$scratch/stdout" && return 1; }
}

# big_endian NUMBER: as four bytes, the form of IDX headers.
big_endian() {
  local hex
  printf -v hex '%08x' "$1"
  printf '%b' "\\x${hex:0:2}\\x${hex:2:2}\\x${hex:4:2}\\x${hex:6:2}"
}

# make_idx STEM ROWS: STEM-images.gz and STEM-labels.gz with ROWS images of 4 x 4; the label is the bright quarter.
make_idx() {
  local stem=$1 rows=$2 row quarter pixel
  local -a dark=('\x00' '\x10' '\x08' '\x20') bright=('\xff' '\xe0' '\xf0' '\xd0')
  {
    big_endian 2051 && big_endian "$rows" && big_endian 4 && big_endian 4
    for ((row = 0; row < rows; row++)); do
      for ((pixel = 0; pixel < 16; pixel++)); do
        # shellcheck disable=SC2017 # rounding is meant
        quarter=$((pixel / 8 * 2 + pixel % 4 / 2))
        if ((quarter == row % 4)); then
          printf '%b' "${bright[(row + pixel) % 4]}"
        else
          printf '%b' "${dark[(row * 3 + pixel) % 4]}"
        fi
      done
    done
  } | gzip -n >"$stem-images.gz"
  {
    big_endian 2049 && big_endian "$rows"
    for ((row = 0; row < rows; row++)); do printf '%b' "\\x0$((row % 4))"; done
  } | gzip -n >"$stem-labels.gz"
}

summary() {
  printf '%d passed, %d failed\n' "$passed" "$failed"
  ((failed == 0))
}
