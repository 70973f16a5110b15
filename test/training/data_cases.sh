# shellcheck shell=bash
# Cases about the data: what is done to images, what is found wrong before the first step. Sourced by `test`.
# shellcheck disable=SC2154 # what `test` and lib.sh set

case_augmented_images_give_the_same_bits_at_any_rank_count() {
  local n run
  for n in 1 2 3; do
    run=$scratch/augmented$n
    ranks "$n" "$conf" --run.dir="$run" --data.crop_padding=3 --data.flip=on --train.steps=8
    same_run "$scratch/augmented1" "$run" || return 1
  done
  # The evaluation of step 5 is of other weights, its images are the same: the augmentation took effect in training alone.
  ! cmp -s <(sed -n 2p "$scratch/augmented1/metrics.csv") <(sed -n 2p "$reference/metrics.csv")
}

# refused_before_step_1 RUN TEXT: the log has this text in the only line of the error, and no step was made.
refused_before_step_1() {
  cat "$1.log"
  [[ $(grep -c '^lockstep: error: ' "$1.log") == 1 && $(rows "$1/metrics.csv") -le 1 ]] && grep -qF "$2" "$1.log"
}

case_bad_samples_are_found_before_the_first_step() {
  local n run
  "$build/test/training/make_shards" --float --nan 350 "$scratch/not-finite" 300 0 100
  "$build/test/training/make_shards" --label 350 "$scratch/no-class" 300 0 100
  for n in 1 3; do
    run=$scratch/not-finite-on-$n
    exits 65 ranks "$n" "$conf" --run.dir="$run" --data.train="$scratch/not-finite" --data.test= >"$run.log" 2>&1
    refused_before_step_1 "$run" "row 50 of dataset x of $scratch/not-finite/00002.h5 has nan at index 7" || return 1
  done
  run=$scratch/no-class-run
  exits 65 ranks 2 "$conf" --run.dir="$run" --data.train="$scratch/no-class" --data.test= >"$run.log" 2>&1
  refused_before_step_1 "$run" "row 50 of dataset y of $scratch/no-class/00002.h5 has label 200, wanted 0 to 9" || return 1
  exits 65 "$lockstep" train "$conf" --run.dir="$run" --data.train="$scratch/no-class" --data.test= --check >"$run.check" 2>&1
  grep -qF "row 50 of dataset y of $scratch/no-class/00002.h5 has label 200" "$run.check"
}

case_data_that_were_found_good_are_not_read_again_until_they_change() {
  local run=$scratch/checked small=(--data.train="$scratch/floats" --data.test= --checkpoint.every=0)
  "$build/test/training/make_shards" --float "$scratch/floats" 100 20
  # Told to stop from the first collective on: nothing is read, nothing noted.
  LOCKSTEP_FAULT=MPI_Allreduce:1:0:term preloaded=yes exits 75 ranks 2 "$conf" --run.dir="$run" "${small[@]}" \
    --train.steps=1 >"$run.0" 2>&1
  [[ ! -e $run/checked ]] || return 1
  ranks 2 "$conf" --run.dir="$run" "${small[@]}" --train.steps=1 >"$run.1" 2>&1
  ranks 1 "$conf" --run.dir="$run" "${small[@]}" --train.steps=2 --optim.schedule=constant >"$run.2" 2>&1
  touch "$scratch/floats/00001.h5"
  ranks 2 "$conf" --run.dir="$run" "${small[@]}" --train.steps=3 --optim.schedule=constant >"$run.3" 2>&1
  [[ $(grep -c 'checked all 120 training samples' "$run".[0123] | cut -d: -f2 | xargs) == "0 1 0 1" ]]
}
