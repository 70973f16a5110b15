# shellcheck shell=bash
# Between two attempts the newest checkpoints are damaged, each in another way: they are named, set aside and kept, and
# the newest good one is used.
# nodes: 1
# shellcheck disable=SC2154

flip_a_byte() { # FILE: in the middle, the tensors'
  local at=$(($(stat -c %s "$1") / 2)) byte
  byte=$(od -An -tu1 -j "$at" -N 1 "$1")
  printf '%b' "\\x$(printf %02x $((byte ^ 16)))" | dd of="$1" bs=1 seek="$at" conv=notrunc status=none
}

run_case() {
  local files i
  echo 'checkpoint.keep = 10' >>"$work/run.conf"
  set_config checkpoint.every 10
  hold_before "is_rank \"\$@\"" 1
  submit --nodes=1
  await has_happened saved 6
  strike_now
  kill -KILL "$(rank_pid 0)"
  await test -e "$work/waiting"
  mapfile -t files < <(find "$run/checkpoints" -name 'step-*.h5' | sort -r)
  ((${#files[@]} >= 6)) || give_up "want 6 checkpoints: ${files[*]}"
  truncate --size=-1 "${files[0]}"
  flip_a_byte "${files[1]}"
  : >"${files[2]}"
  head -c 2000 /dev/urandom >"${files[3]}"
  head -c 5000 "${files[4]}" >"$run/checkpoints/.step-99999999.h5.tmp.$job.0"
  finish_after 60
  touch "$work/go"
  await has_happened resumed 1
  await is_at_step $(($(event resumed 1 1) + 1))
  report_recovery 10 "the newest four checkpoints damaged" "$(recovery_seconds 2)"
  expect "resumed from" "$(checkpoint_of "$(event resumed 1 1)")" "${files[4]}"
  says() { grep -qE "$1" "$work/lockstep-$job.out" || expect "what the job says of $2" nothing "$1"; }
  for i in 0 1 2 3; do
    says "${files[i]##*/}: .*; skipped and kept" "damage $i"
    [[ -e ${files[i]%/*}/damaged-${files[i]##*/} ]] || expect "damaged checkpoint $i" gone kept
  done
  says 'checkpoint of step 99999999 was never completed by job ' "a torn one"
  await_end
  expect_finished 1
}
