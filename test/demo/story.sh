# shellcheck shell=bash
# What the rungs of the demo's ladder share: telling, following the training, the account at the end.
# Sourced by `run`, which sets: root, prefix, results, work, run_dir.
# shellcheck disable=SC2034,SC2154 # set there, used here, and the other way round

config=fashion-mnist.conf
least_accuracy=90 # percent
output=           # what the training has said so far
shown=0           # progress lines of it that were shown

tell() { printf '%4d s  %s\n' "$SECONDS" "$*"; }

fail() {
  say "demo: the end of what the training said:"
  tail -n 40 "$output" >&2 || true
  say "demo: failed: $*"
  exit 1
}

# A value of the configuration as the program reads it.
setting() { (cd "$work" && "$prefix/bin/lockstep" train "$config" --print="$1"); }

prepare_work() {
  cp "$prefix/share/lockstep/sbatch/$config" "$work/"
  LOCKSTEP=$prefix/bin/lockstep "$prefix/share/lockstep/datasets/fashion-mnist/import" \
    "$work/data/fashion-mnist" >"$work/import.log" 2>&1 || fail "the import: $(tail -n 1 "$work/import.log")"
  steps=$(setting train.steps)
  preempt_at=$((steps * 4 / 10))
}

steps_done() {
  local lines
  lines=$(grep -c '' "$run_dir/metrics.csv" 2>/dev/null) || lines=1
  printf '%d\n' "$((lines - 1))"
}
is_at_step() { (($(steps_done) >= $1)); }

# event NAME FIELD: a field (1: step, 2: time, 4: detail) of the first such event; fails where there is none yet.
event() {
  awk -F, -v name="$1" -v field="$2" '$3 == name { print $field; found = 1; exit } END { exit !found }' \
    "$run_dir/events.csv" 2>/dev/null
}
has_happened() { event "$1" 1 >/dev/null; }

difference() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", b - a }'; }

# Shows what the training has said since the last call, without the program's name in front.
show_progress() {
  local line
  while IFS= read -r line; do
    printf '          %s\n' "${line#lockstep: }"
    shown=$((shown + 1))
  done < <(grep -E '^lockstep: (step [0-9]+/|evaluation |resumed )' "$output" 2>/dev/null | tail -n +$((shown + 1)))
}

# follow SECONDS COMMAND...: shows progress until COMMAND succeeds. `is_live` (of the rung) tells whether
# there is still something to wait for.
follow() {
  local limit=$1 deadline=$((SECONDS + $1)) live
  shift
  while true; do
    live=yes
    is_live || live=no
    show_progress
    "$@" && return
    [[ $live == yes ]] || fail "the training has ended before: $*"
    ((SECONDS < deadline)) || fail "after $limit s still not: $*"
    sleep 0.2
  done
}

# The same configuration in one process that nobody disturbs: exact mode promises the same bits.
compare_with_undisturbed() {
  local file
  tell "Now the same training once more in one process that nobody disturbs, to compare"
  as_trainer timeout --foreground 300 lockstep train "$config" --run.dir=undisturbed >"$work/undisturbed.out" 2>&1 || {
    output=$work/undisturbed.out
    fail "the undisturbed run"
  }
  for file in metrics.csv eval.csv; do
    cmp "$run_dir/$file" "$work/undisturbed/$file" >&2 || fail "$file differs from the undisturbed run's"
  done
}

keep_results() {
  [[ -d $run_dir ]] || return 0
  rm -rf "$results"
  mkdir -p "$results"
  cp "$run_dir"/*.csv "$run_dir/config.ini" "$results/" 2>/dev/null || true
  [[ ! -r $output ]] || cp "$output" "$results/job.out"
  [[ ! -r $scratch/log/slurmctld.log ]] || cp "$scratch/log/slurmctld.log" "$results/"
}

tell_result() {
  local accuracy samples
  # Each step exactly once, in order: nothing was lost and nothing was done twice in what counts.
  awk -F, -v steps="$steps" 'NR > 1 && $1 != NR - 1 { exit 1 } END { exit NR != steps + 1 }' \
    "$run_dir/metrics.csv" || fail "metrics.csv does not hold each of the $steps steps exactly once"
  [[ $(event resumed 1) == "$(event stopped 1)" ]] || fail "resumed at another step than the one that was saved"
  IFS=, read -r _ _ samples _ accuracy < <(tail -n 1 "$run_dir/eval.csv")
  accuracy=$(awk -v a="$accuracy" 'BEGIN { printf "%.2f", 100 * a }')
  awk -v a="$accuracy" -v least="$least_accuracy" 'BEGIN { exit !(a >= least) }' ||
    fail "test accuracy $accuracy %, want at least $least_accuracy %"
  "$prefix/bin/lockstep" plot "$results" --out "$results" >"$work/plot.log" 2>&1 || fail "the curves: $(tail -n 1 "$work/plot.log")"

  tell "Done: the training survived its preemption"
  cat <<END

  Test accuracy           $accuracy % of $samples images that it never trained on
  Optimizer steps lost    0 of $steps: $(event stopped 1) before, $((steps - $(event stopped 1))) after, each once in metrics.csv
  Preempted to saved      $(difference "$preempted_time" "$(event saved 2)") s
END
  [[ -z $wait_note ]] || printf '  %s\n' "$wait_note"
  cat <<END
  Ranks                   $(event started 4 | cut -d' ' -f1) before, $(event resumed 4 | cut -d' ' -f1) after
  Same bits               losses, gradient norms and accuracies equal those of the undisturbed run to the last digit
  Loss curve              ${results#"$root"/}/loss.png (also there: accuracy.png, throughput.png, *.csv, job.out)

END
}
