# shellcheck shell=bash
# Cases about how gradients are summed: whichever way the configuration chooses, the run is the same. Sourced by `test`.
# shellcheck disable=SC2154 # what `test` and lib.sh set

# summed RANKS RUN ARGS...: five steps of a network whose 2.6 MiB of gradients are several buckets of a MiB.
summed() {
  local count=$1 run=$2
  shift 2
  ranks "$count" "$conf" --run.dir="$run" --model.name=mlp --model.hidden=512,512 --train.steps=5 --train.global_batch=12 \
    --checkpoint.every=0 "$@" >"$run.log" 2>&1 || {
    cat "$run.log"
    return 1
  }
}

# same_losses A B: and norms, to a relative 1e-5, at each of five steps.
same_losses() {
  paste -d, "$1/metrics.csv" "$2/metrics.csv" | awk -F, '
    NR == 1 { for (i = 1; i <= NF / 2; ++i) name[i] = $i; columns = NF / 2; next }
    { for (i = 1; i <= columns; ++i) {
        d = $i - $(i + columns); if (d < 0) d = -d
        if (d > 1e-5 * ($i < 0 ? -$i : $i)) { print "step " $1 ", " name[i] ": " $i " and " $(i + columns); bad = 1 } } }
    END { exit bad || NR != 6 }'
}

case_exact_sums_are_the_same_bits_with_and_without_overlap_and_buckets() {
  local run=$scratch/exact-sums
  summed 2 "$run" --comm.overlap=off --comm.bucket_mib=4096 || return 1
  summed 2 "$run-2" --comm.overlap=on --comm.bucket_mib=1 || return 1
  summed 3 "$run-3" --comm.overlap=on --comm.bucket_mib=1 || return 1
  summed 3 "$run-4" --comm.overlap=off --comm.bucket_mib=1 || return 1
  for other in 2 3 4; do same_run "$run" "$run-$other" || return 1; done
}

case_fast_sums_by_every_algorithm_agree_to_rounding_with_and_without_overlap() {
  local run=$scratch/fast-sums count algorithm overlap
  summed 2 "$run" --comm.overlap=off || return 1 # exact
  while read -r count algorithm overlap; do
    summed "$count" "$run-$algorithm" --train.reduction=fast --comm.algorithm="$algorithm" --comm.overlap="$overlap" \
      --comm.bucket_mib=1 </dev/null || return 1
    same_losses "$run" "$run-$algorithm" || return 1
  done <<'END'
3 auto off
3 ring on
2 direct off
3 doubling on
3 mpi on
END
  summed 2 "$run-mpi-2" --train.reduction=fast --comm.algorithm=mpi --comm.overlap=off && same_losses "$run" "$run-mpi-2"
}
