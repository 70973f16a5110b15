# shellcheck shell=bash
# shellcheck disable=SC2154 # `budget`, `work` and `fake` are test/gpu/check's
# The steps of test/gpu/check: each with a limit and a log of its own, all within one; and their report.

begin=$SECONDS
rows=() passed=0 failed=0 left_out=0

remaining() { echo $((budget - (SECONDS - begin))); }

# step NAME LIMIT COMMAND...: runs it, its output in $work/NAME.log. What there is to say about it, it may write to
# $work/NAME.note.
step() {
  local name=$1 limit=$2 status=0 start=$SECONDS left note=''
  shift 2
  left=$(remaining)
  ((limit < left)) || limit=$left
  if ((limit < 5)); then
    leave_out "$name" "no time left of $budget s"
    return 1
  fi
  printf '%s ...\n' "$name"
  timeout --kill-after=5 "$limit" "$@" </dev/null >"$work/$name.log" 2>&1 || status=$?
  note=$(last_count "$work/$name.log")
  [[ ! -s $work/$name.note ]] || note+="${note:+; }$(<"$work/$name.note")"
  if ((status == 0)); then
    passed=$((passed + 1))
    rows+=("| $name | passed | $((SECONDS - start)) | $note |")
  else
    failed=$((failed + 1))
    ((status != 124 && status != 137)) || note="ended after its limit of $limit s${note:+; $note}"
    rows+=("| $name | **failed** ($status) | $((SECONDS - start)) | $note |")
  fi
  printf '%s: %s, %d s%s\n' "$name" "$( ((status == 0)) && echo passed || echo "failed, code $status")" \
    $((SECONDS - start)) "${note:+, $note}"
  return "$status"
}

leave_out() {
  left_out=$((left_out + 1))
  rows+=("| $1 | left out | 0 | $2 |")
  printf '%s: left out: %s\n' "$1" "$2"
}

# What a log says of its tests in its last lines.
last_count() {
  sed $'s/\e\\[[0-9;]*m//g' "$1" |
    grep -E '^(All tests passed|test cases:|[0-9]+ passed, [0-9]+ failed|.*ERROR SUMMARY|.*RACECHECK SUMMARY)' |
    tail -n 1 | tr '|' '/' | sed 's/^=* *//' || true
}

# section TITLE FILE: a part of the report, if there is anything in the file.
section() { [[ ! -s $2 ]] || { printf '\n## %s\n\n' "$1" && cat "$2"; }; }

write_report() {
  local file=$1 log
  {
    if ((fake == 1)); then
      printf "# What ran on the stand-in for a GPU\n\nIts times and speeds mean nothing, and it does what NVIDIA's documents say.\n\n"
    else
      printf '# What ran on this GPU\n\n'
    fi
    sed 's/^/- /' "$work/machine"
    printf '\n| step | result | seconds | what it said |\n| --- | --- | --- | --- |\n'
    printf '%s\n' "${rows[@]}"
    section 'What NVIDIA leaves open' "$work/findings.md"
    section 'Matrix products' "$work/products.md"
    section 'Training against PyTorch' "$work/training.md"
    for log in "$work"/*.log; do
      [[ "${rows[*]}" == *"| $(basename "$log" .log) | **failed"* ]] || continue
      printf '\n## The end of %s\n\n```text\n' "$(basename "$log")"
      grep -E '^not ok|FAILED|error:|\(Error\)' "$log" | head -n 30 || true
      tail -n 40 "$log"
      echo '```'
    done
    printf '\n%d passed, %d failed, %d left out, in %d s\n' "$passed" "$failed" "$left_out" $((SECONDS - begin))
  } >"$file"
}
