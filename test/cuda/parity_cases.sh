# shellcheck shell=bash
# Runs on GPUs compute what runs on CPUs do: to rounding, and in exact mode the same bytes on any number of them. Sourced
# by `test`, which sets scratch, conf, lockstep and build.
# shellcheck disable=SC2154

# network NAME: sets `network`, arguments for 8 steps of four lanes, which one rank takes one after the other: with
# dropout, evaluations of an average of the weights, and a short step at the end of each epoch. A model's name, or gelu
# for an mlp with it.
network() {
  local data=$scratch/small model=$1
  [[ $1 != gelu ]] || model=mlp
  network=(--model.name="$model" --model.dropout=0.2 --train.global_batch=32 --train.micro_batch=8 --train.steps=8
    --optim.ema_decay=0.9 --eval.every=3 --eval.batch=16 --checkpoint.every=4)
  case $1 in
    mlp) network+=(--model.hidden=32 --optim.name=adamw --optim.lr=0.002) ;;
    gelu) network+=(--model.activation=gelu "--model.hidden=32,21" --optim.name=adamw --optim.lr=0.002) ;;
    cnn) network+=("--model.channels=8,16") ;;
    resnet)
      data=$scratch/images
      network+=(--model.depth=20 --train.steps=4 --optim.lr=0.002 --eval.every=2 --checkpoint.every=2)
      exec {making}>"$scratch/making" && flock "$making" # cases run side by side
      [[ -d $data ]] || "$build/test/training/make_shards" "$data" 70 50
      exec {making}>&-
      ;;
  esac
  network+=(--data.train="$data" --data.test="$data")
}

# told LOG COMMAND...: shows the log where the command fails.
told() {
  local log=$1
  shift
  "$@" >"$log" 2>&1 || {
    cat "$log"
    return 1
  }
}

# near RUN RUN: the curves are the same to rounding.
near() {
  near_columns "$1/metrics.csv" "$2/metrics.csv" step samples loss accuracy learning_rate gradient_norm &&
    near_columns "$1/eval.csv" "$2/eval.csv" step samples loss accuracy
}

# as_on_cpus NAME RANKS ARGS...: on each number of GPUs the curve of the CPU.
as_on_cpus() {
  local n run=$scratch/$1 list=$2
  network "${1%%-*}"
  shift 2
  told "$run.log" gpu_ranks 0 "$conf" "${network[@]}" --run.dir="$run" --device=cpu "$@" || return 1
  for n in $list; do
    told "$run-$n.log" gpu_ranks "$n" "$conf" "${network[@]}" --run.dir="$run-$n" "$@" || return 1
    near "$run" "$run-$n" || return 1
  done
}

case_an_mlp_trains_on_1_2_and_4_GPUs_as_on_a_CPU() { as_on_cpus mlp '1 2 4'; }
# In 16 bits one hidden layer's GELU is cuBLASLt's, the other's a kernel's.
case_an_mlp_with_GELU_trains_on_GPUs_as_on_a_CPU() {
  as_on_cpus gelu '1 2' && nearness=0.03 as_on_cpus gelu-bf16 2 --train.precision=bf16
}
case_a_cnn_trains_on_1_2_and_4_GPUs_as_on_a_CPU() { as_on_cpus cnn '1 2 4'; }
# Deviations over few values make rounding large.
case_a_resnet_trains_on_1_2_and_4_GPUs_as_on_a_CPU() { nearness=2e-3 as_on_cpus resnet '1 2 4'; }

# Its measurements lie between its operations.
case_a_traced_run_on_GPUs_computes_what_a_CPU_does() { as_on_cpus mlp-traced 2 --trace "$scratch/mlp-traced.json"; }

# exact NAME ARGS...: the same bytes on 1, 2 and 4 GPUs, and of a run that goes on on other numbers of them.
exact() {
  local n run=$scratch/exact-$1 name=$1
  network "${name%%-*}"
  shift
  network+=(--train.reduction=exact --log-hash "$@")
  for n in 1 2 4; do
    told "$run-$n.log" gpu_ranks "$n" "$conf" "${network[@]}" --run.dir="$run-$n" || return 1
    same_run "$run-1" "$run-$n" && cmp "$run-1/hashes.csv" "$run-$n/hashes.csv" || return 1
  done
  # From the checkpoint before the last.
  for n in 4 1; do
    rm -f "$(newest "$run-2")"
    told "$run-2.log" gpu_ranks "$n" "$conf" "${network[@]}" --run.dir="$run-2" || return 1
    grep -q 'resumed from step [24] of' "$run-2.log" || return 1
    same_run "$run-1" "$run-2" && cmp "$run-1/hashes.csv" "$run-2/hashes.csv" || return 1
  done
}

case_exact_mode_gives_the_same_bytes_on_any_number_of_GPUs() { exact cnn; }
case_exact_mode_and_GELU_on_any_number_of_GPUs() { exact gelu --train.precision=bf16; }
case_exact_mode_and_batch_normalisation_on_any_number_of_GPUs() { exact resnet; }

# moves FROM TO ARGS...: half a run on the one kind of device, the other half on the other, ends near a run on the first alone.
moves() {
  local from=$1 to=$2 run=$scratch/moves-$1-$2$#
  shift 2
  network cnn
  network+=(--eval.every=4 "$@")
  told "$run.log" gpu_ranks 2 "$conf" "${network[@]}" --run.dir="$run" --device="$from" || return 1
  told "$run-moved.log" gpu_ranks 2 "$conf" "${network[@]}" --run.dir="$run-moved" --device="$from" --train.steps=4 || return 1
  told "$run-moved.log" gpu_ranks 1 "$conf" "${network[@]}" --run.dir="$run-moved" --device="$to" || return 1
  grep -q "the checkpoint was made with $from .*, this is $to .*: results differ in rounding" "$run-moved.log" || {
    cat "$run-moved.log"
    return 1
  }
  near "$run" "$run-moved"
}
case_a_run_moves_from_CPUs_to_GPUs() { moves cpu cuda; }
case_a_run_moves_from_GPUs_to_CPUs() { moves cuda cpu; }

case_exact_mode_stays_on_its_kind_of_device() {
  local from to run
  network mlp
  for from in cpu cuda; do
    [[ $from == cpu ]] && to=cuda || to=cpu
    run=$scratch/stays-$from
    told "$run.log" gpu_ranks 0 "$conf" "${network[@]}" --run.dir="$run" --train.reduction=exact --device=$from --train.steps=4 || return 1
    exits 78 gpu_ranks 2 "$conf" "${network[@]}" --run.dir="$run" --train.reduction=exact --device=$to >"$run.log" 2>&1 || return 1
    grep -q "exact needs the same environment everywhere: the checkpoint was made with $from .*, this is $to " "$run.log" || return 1
    # Not as the same run.
    told "$run.log" gpu_ranks 2 "$conf" "${network[@]}" --run.dir="$run" --fork --device=$to || return 1
    grep -q 'forked: train.reduction: exact in the checkpoint, fast now' "$run.log" || return 1
  done
}
