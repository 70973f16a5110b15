# shellcheck shell=bash
# shellcheck disable=SC2154 # variables of `test`
# Cases about batch normalisation. Sourced by `test`.

# Batch normalisation: statistics belong to micro-batches. Each epoch of 42 samples ends with a step in which one lane
# has 2 samples and the last one none.
resnet() {
  exec {making}>"$scratch/making" && flock "$making" # cases run side by side
  [[ -d $scratch/few ]] || "$build/test/training/make_shards" "$scratch/few" 22 20
  residual=(--data.train="$scratch/few" --data.test="$scratch/few" --model.name=resnet --model.depth=20 --model.dropout=0.1
    --train.global_batch=16 --train.micro_batch=4 --train.steps=10 --eval.every=3 --checkpoint.every=2 --optim.clip_norm=0)
  [[ -e $scratch/resnet ]] || ranks 0 "$conf" --run.dir="$scratch/resnet" "${residual[@]}"
  exec {making}>&-
}

case_running_statistics_have_the_same_bits_on_any_number_of_ranks() {
  local n stored
  resnet
  for n in 2 3 4; do
    ranks "$n" "$conf" --run.dir="$scratch/resnet$n" "${residual[@]}"
    same_run "$scratch/resnet" "$scratch/resnet$n" || return 1
  done
  stored=$(h5dump -d /model/layer3.2.bn2.running_var "$(newest "$scratch/resnet")")
  grep -q 'DATASPACE  SIMPLE { ( 64 )' <<<"$stored" && ! grep -q ': 1, 1, 1' <<<"$stored"
}

case_running_statistics_survive_stops_on_changing_rank_counts() {
  changing() { echo $(($1 * 3 % 5)); }
  resnet
  stop_and_go "$scratch/resnet-chain" changing "${residual[@]}" || return 1
  same_run "$scratch/resnet" "$scratch/resnet-chain"
}

# The loss and the gradient of an outlier may be finite while the variance of its micro-batch is not: an infinity would
# stay in the running statistics for ever.
case_an_outlier_leaves_the_running_statistics_finite() {
  local n
  awk 'BEGIN { for (i = 0; i < 40; ++i) { printf "%d", i % 2; for (j = 0; j < 16; ++j)
    printf ",%g", (i == 13 ? 1e25 : 1) * sin(37 * i + 11 * j + i % 2); print "" } }' >"$scratch/outliers.csv"
  "$lockstep" data import csv --file="$scratch/outliers.csv" --label=1 --shape=1x4x4 --mean=0 --std=1 --scale=1 \
    --out="$scratch/outliers"
  for n in 1 3; do
    ranks "$n" "$conf" --run.dir="$scratch/outliers$n" --data.train="$scratch/outliers" --data.test="$scratch/outliers" \
      --model.name=resnet --model.dropout=0 --train.global_batch=16 --train.micro_batch=4 --train.steps=6 --eval.every=0 \
      --guard.anomaly=skip >"$scratch/outliers$n.log" 2>&1
  done
  same_run "$scratch/outliers1" "$scratch/outliers3" || return 1
  [[ $(grep -c 'makes no update: the variance of a batch normalisation is not finite' "$scratch/outliers1.log") == 2 ]] || return 1
  # The sample is told by its inputs: its loss is as good as any.
  [[ $(grep -c 'finite; the one with the largest inputs of [0-9]* samples is row 13 of .*/00000.h5' "$scratch/outliers1.log") == 2 ]] ||
    return 1
  [[ $(tail -n +2 "$scratch/outliers1/anomalies.csv" | cut -d, -f3 | xargs) == "13 13" ]] || return 1
  cmp "$scratch/outliers1/anomalies.csv" "$scratch/outliers3/anomalies.csv" || return 1
  ! h5dump -g /model "$(newest "$scratch/outliers1")" | grep -qE ' -?(inf|nan)'
}
