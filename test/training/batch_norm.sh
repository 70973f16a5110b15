# shellcheck shell=bash
# shellcheck disable=SC2154 # variables of `test`
# Cases about batch normalisation. Sourced by `test`.

# Batch normalisation: statistics belong to micro-batches. Each epoch of 42 samples ends with a step in which one lane
# has 2 samples and the last one none.
resnet() {
  [[ -d $scratch/few ]] || "$build/test/training/make_shards" "$scratch/few" 22 20
  residual=(--data.train="$scratch/few" --data.test="$scratch/few" --model.name=resnet --model.depth=20 --model.dropout=0.1
    --train.global_batch=16 --train.micro_batch=4 --train.steps=10 --eval.every=3 --checkpoint.every=2 --optim.clip_norm=0)
  [[ -e $scratch/resnet ]] || ranks 0 "$conf" --run.dir="$scratch/resnet" "${residual[@]}"
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
