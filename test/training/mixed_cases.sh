# shellcheck shell=bash
# Cases about training in 16 bits: exact mode, loss scaling, resume. Sourced by `test`.
# shellcheck disable=SC2154 # what `test` and lib.sh set

# Begins with a scale that overflows and doubles it after every other update: it falls and grows all through the run.
restless=(--train.precision=fp16 --train.loss_scale=67108864 --train.loss_scale_growth=2 --train.steps=18)

# scale_of RUN: what the newest checkpoint has.
scale_of() { h5dump -a /meta/loss_scale -a /meta/loss_scale_good_steps "$(newest "$1")" | sed -n 's/.*(0): //p' | xargs; }

case_sixteen_bits_give_the_same_bits_on_any_number_of_ranks() {
  local n precision run=$scratch/mixed
  for precision in bf16 fp16; do
    for n in 1 2 3; do
      ranks "$n" "$conf" --run.dir="$run-$precision-$n" --train.precision="$precision" --train.steps=8 --log-hash \
        >"$run-$precision-$n.log" 2>&1 || {
        cat "$run-$precision-$n.log"
        return 1
      }
      same_run "$run-$precision-1" "$run-$precision-$n" || return 1
      cmp "$run-$precision-1/hashes.csv" "$run-$precision-$n/hashes.csv" || return 1
    done
  done
}

# learns MODEL STEPS LEAST ARGS...: in bf16 and fp16 with the losses of f32, to 8 %, which fall below LEAST of the first.
learns() {
  local model=$1 steps=$2 least=$3 precision run=$scratch/learns-$1
  shift 3
  for precision in f32 bf16 fp16; do
    ranks 0 "$conf" --run.dir="$run-$precision" --model.name="$model" --model.dropout=0 --train.precision="$precision" \
      --train.global_batch=24 --train.micro_batch=24 --train.steps="$steps" --eval.every=0 --checkpoint.every=0 "$@" \
      >"$run-$precision.log" 2>&1 || {
      cat "$run-$precision.log"
      return 1
    }
    [[ $precision != f32 ]] || continue
    paste -d, "$run-f32/metrics.csv" "$run-$precision/metrics.csv" | awk -F, -v of="$model $precision" -v least="$least" '
      NR == 2 { first = $11 }
      NR > 1 { d = $11 / $4 - 1; if (d < 0) d = -d; if (d > worst) worst = d; last = $11 }
      END { print of ": loss " first " to " last ", at most " worst " from f32"
            exit !(worst > 0 && worst < 0.08 && last < least * first) }' || return 1
  done
}

case_networks_learn_in_sixteen_bits_as_in_f32() {
  learns mlp 24 0.8 --optim.lr=0.01 && learns cnn 24 0.9 --optim.lr=0.01 && learns resnet 6 0.99 --optim.warmup_steps=0
}

case_overflows_halve_the_loss_scale_and_training_goes_on() {
  local run=$scratch/overflow
  ranks 2 "$conf" --run.dir="$run" "${restless[@]}" --train.loss_scale=1099511627776 --train.steps=40 \
    --eval.every=0 --checkpoint.every=0 >"$run.log" 2>&1 || {
    cat "$run.log"
    return 1
  }
  each_step_once "$run/metrics.csv" 40 || return 1
  # Not finite, and no anomaly; updates were made in between.
  grep -m 1 '^1,.*,overflow,gradients have overflowed; the loss scale falls from 1099511627776 to 549755813888' "$run/events.csv" || return 1
  ! grep -q ',anomaly,\|,skipped,' "$run/events.csv" || return 1
  local skipped updates
  skipped=$(grep -c ,overflow, "$run/events.csv")
  updates=$(h5dump -a /meta/updates "$(newest "$run")" | sed -n 's/.*(0): //p')
  echo "$skipped overflows, $updates updates, scale $(scale_of "$run")"
  ((skipped + updates == 40 && updates >= 8)) &&
    awk -F, 'NR == 2 { first = $4 } END { exit !($4 < first) }' "$run/metrics.csv"
}

case_the_loss_scale_goes_on_where_a_stopped_run_left_it() {
  local run=$scratch/scale
  mixed_ranks() { echo $((1 + $1 % 3)); }
  ranks 0 "$conf" --run.dir="$run" "${restless[@]}" --log-hash >"$run.log" 2>&1 || {
    cat "$run.log"
    return 1
  }
  stop_and_go "$run-chain" mixed_ranks "${restless[@]}" --log-hash || return 1
  same_run "$run" "$run-chain" && cmp "$run/hashes.csv" "$run-chain/hashes.csv" || return 1
  [[ $(scale_of "$run") == "$(scale_of "$run-chain")" ]]
}
