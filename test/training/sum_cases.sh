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

# mean_loss RUN: of the last 50 steps.
mean_loss() { tail -n 50 "$1/metrics.csv" | awk -F, '{ sum += $4 } END { print sum / NR }'; }

case_gradients_in_bf16_between_ranks_learn_as_those_in_f32_do() {
  local run=$scratch/wire dtype
  idx 0 9600 "$run-data" # each sample once: no network learns by heart what rounding could change
  local arguments=(--data.train="$run-data" --model.name=mlp --train.reduction=fast --optim.schedule=constant
    --checkpoint.every=0 --comm.overlap=on)
  for dtype in f32 bf16; do
    exits 0 ranks 3 "$conf" --run.dir="$run-$dtype" "${arguments[@]}" --train.steps=200 --comm.dtype=$dtype \
      >"$run-$dtype.log" 2>&1 || return 1
  done
  echo "losses: $(mean_loss "$run-f32") in f32, $(mean_loss "$run-bf16") in bf16"
  awk -v f32="$(mean_loss "$run-f32")" -v bf16="$(mean_loss "$run-bf16")" \
    'BEGIN { d = bf16 / f32 - 1; exit !(f32 > 0 && d < 0.02 && d > -0.02) }' || return 1
  ! cmp -s "$run-f32/metrics.csv" "$run-bf16/metrics.csv" || return 1
  exits 78 ranks 3 "$conf" --run.dir="$run-bf16" "${arguments[@]}" --train.steps=210 >"$run.log" 2>&1
  grep -q 'comm.dtype: bf16 in the checkpoint, f32 now; go on with --fork' "$run.log" || return 1
  exits 78 ranks 2 "$conf" --run.dir="$run-exact" --comm.dtype=bf16 >"$run.log" 2>&1
  grep -q 'comm.dtype = bf16 rounds what each rank sends' "$run.log" && [[ ! -e $run-exact ]]
}
