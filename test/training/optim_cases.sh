# shellcheck shell=bash
# Cases about optimizers, schedules and losses. Sourced by `test`.
# shellcheck disable=SC2154 # what `test` and lib.sh set

case_adamw_an_average_and_smoothed_labels_keep_the_bits_and_resume() {
  local n run=$scratch/adamw arguments=(--model.name=mlp --model.hidden=24 --optim.name=adamw --optim.lr=0.003
    --optim.schedule=wsd --optim.ema_decay=0.9 --train.label_smoothing=0.1)
  ranks 0 "$conf" --run.dir="$run" "${arguments[@]}" >"$run.log" 2>&1
  # All of it is at work: the average is another than the weights, and is what is evaluated.
  ! h5diff "$(newest "$run")" "$(newest "$run")" /model/fc2.weight /ema/fc2.weight >/dev/null || return 1
  ranks 0 "$conf" --run.dir="$run-plain" "${arguments[@]}" --optim.ema_decay=0 >/dev/null 2>&1
  cmp "$run/metrics.csv" "$run-plain/metrics.csv" || return 1
  ! cmp -s "$run/eval.csv" "$run-plain/eval.csv" || return 1
  [[ $(h5dump -d /meta/config "$(newest "$run")" | grep -c 'optim.ema_decay = 0.9') == 1 ]] || return 1
  for n in 2 3 4; do
    ranks "$n" "$conf" --run.dir="$run$n" "${arguments[@]}" >/dev/null 2>&1
    same_run "$run" "$run$n" || return 1
  done
  changing() { echo $(($1 * 3 % 5)); }
  stop_and_go "$run-chain" changing "${arguments[@]}" || return 1
  same_run "$run" "$run-chain" && each_step_once "$run-chain/metrics.csv" 14
}

case_keys_without_effect_are_told_in_one_line() {
  local run=$scratch/idle
  exits 0 ranks 2 "$conf" --run.dir="$run" --model.name=mlp --train.steps=1 >"$run.log" 2>&1
  [[ $(grep -c 'given, but without effect: model.channels (model.name = mlp), optim.schedule = cosine (all 1 steps' \
    "$run.log") == 1 ]] || {
    cat "$run.log"
    return 1
  }
}
