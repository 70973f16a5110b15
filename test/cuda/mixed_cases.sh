# shellcheck shell=bash
# The same as parity_cases.sh in 16 bits. Sourced by `test` behind it.
# shellcheck disable=SC2154

# Values of 8 and of 11 bits, rounded after sums in another order. The loss scale of fp16 is so large that it falls at
# first, and grows after every other update.
sixteen_bits() {
  precision=(--train.precision="$1")
  [[ $1 == bf16 ]] || precision+=(--train.loss_scale=67108864 --train.loss_scale_growth=2)
}
case_bf16_on_1_2_and_4_GPUs_is_as_on_a_CPU() {
  sixteen_bits bf16
  nearness=0.03 as_on_cpus cnn-bf16 '1 2 4' "${precision[@]}"
}
case_fp16_on_1_2_and_4_GPUs_is_as_on_a_CPU() {
  local n run=$scratch/mlp-fp16
  sixteen_bits fp16
  nearness=0.01 as_on_cpus mlp-fp16 '1 2 4' "${precision[@]}" || return 1
  for n in 1 2 4; do diff <(scales "$run") <(scales "$run-$n") || return 1; done
}
# scales RUN: at which steps the loss scale has fallen, and where it is at the end.
scales() {
  grep -m 1 ',overflow,' "$1/events.csv" >/dev/null || return 1
  sed -n 's/^\([0-9]*\),.*,overflow,.*/\1/p' "$1/events.csv"
  h5dump -a /meta/loss_scale "$(newest "$1")" | grep '(0):'
}

case_exact_mode_in_fp16_on_any_number_of_GPUs() {
  sixteen_bits fp16
  exact mlp-fp16 "${precision[@]}"
}

case_a_run_in_fp16_moves_with_its_loss_scale() {
  sixteen_bits fp16
  nearness=0.03 moves cpu cuda "${precision[@]}"
}
