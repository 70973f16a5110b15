# shellcheck shell=bash
# Choosing GPUs, and what is said where that fails. Sourced by `test`, which sets scratch, conf and lockstep.
# shellcheck disable=SC2154

case_an_mlp_trains_on_GPUs_as_on_CPUs() {
  local run=$scratch/mlp
  gpu_ranks 0 "$conf" --run.dir="$run-cpu" --device=cpu
  gpu_ranks 2 "$conf" --run.dir="$run-cuda" --train.device=auto >"$run.log" 2>&1
  grep -q '; cuda Fake GPU sm_90 driver ' "$run.log" && near_columns "$run-cpu/metrics.csv" "$run-cuda/metrics.csv" step loss
}

case_more_ranks_than_GPUs_are_refused() {
  local run=$scratch/few
  FAKE_GPU_COUNT=2 FAKE_GPU_FAULT=cudaMalloc:1:cudaErrorUnknown exits 78 gpu_ranks 3 "$conf" --run.dir="$run" >"$run.log" 2>&1
  grep -q "cannot choose a GPU: rank 0 .* 3 ranks on .* see 2 GPUs" "$run.log" && [[ ! -e $run ]]
}

case_ranks_that_see_the_same_GPU_are_refused() {
  local run=$scratch/same
  CUDA_VISIBLE_DEVICES=1 exits 78 gpu_ranks 2 "$conf" --run.dir="$run" >"$run.log" 2>&1
  grep -q '2 ranks on .* see 1 GPU (GPU-.*1), and each needs one of its own' "$run.log"
}

case_a_MIG_instance_is_for_one_rank() {
  local run=$scratch/slice
  export FAKE_GPU_MIG=1 CUDA_VISIBLE_DEVICES=MIG-fa4e0000-0000-4000-8000-000000000001
  exits 78 gpu_ranks 2 "$conf" --run.dir="$run" >"$run.log" 2>&1
  grep -q '2 ranks on .* see 1 MIG instance' "$run.log"
}

case_no_driver_and_an_old_one() {
  local run=$scratch/driver
  FAKE_GPU_DRIVER=0 exits 78 gpu_ranks 2 "$conf" --run.dir="$run" >"$run.log" 2>&1
  grep -q 'this node has no NVIDIA driver' "$run.log"
  FAKE_GPU_DRIVER=12040 exits 78 gpu_ranks 0 "$conf" --run.dir="$run" >"$run.log" 2>&1
  grep -q 'is made for CUDA 12.4, and this Lockstep for CUDA' "$run.log"
  # What is not asked for need not be there.
  FAKE_GPU_DRIVER=0 gpu_ranks 0 "$conf" --run.dir="$run" --device=auto --train.steps=2 >"$run.log" 2>&1
  grep -q 'computing on the CPU: this node has no NVIDIA driver' "$run.log"
}

case_ranks_with_and_without_a_GPU() {
  local run=$scratch/mixed
  only_rank=1 setting=FAKE_GPU_DRIVER=0 exits 78 gpu_ranks 2 "$conf" --run.dir="$run" --device=auto >"$run.log" 2>&1
  grep -q 'rank 1 on .* has no GPU, rank 0 on .* has GPUs: all ranks need the same kind' "$run.log"
}

case_a_GPU_that_another_process_has() {
  local run=$scratch/exclusive
  only_rank=1 setting=FAKE_GPU_FAULT=cudaSetDevice:1:cudaErrorDevicesUnavailable \
    exits 70 gpu_ranks 2 "$conf" --run.dir="$run" >"$run.log" 2>&1
  grep -q 'cannot open the GPU: rank 1 .* is taken: it is in exclusive mode' "$run.log"
}

case_an_architecture_that_was_not_built_for() {
  local run=$scratch/architecture
  FAKE_GPU_CAPABILITY=7.5 exits 78 gpu_ranks 2 "$conf" --run.dir="$run" >"$run.log" 2>&1
  grep -q 'cannot open the GPU: rank 0 .* compute capability 7.5) is too old: Lockstep needs .* train.device = cpu' "$run.log"
}

case_memory_of_the_host_that_cannot_be_locked() {
  local run=$scratch/locked
  FAKE_GPU_FAULT=cudaMallocHost:1:cudaErrorMemoryAllocation exits 78 gpu_ranks 0 "$conf" --run.dir="$run" >"$run.log" 2>&1
  grep -q 'MiB of the host.s memory cannot be page-locked for copies to and from the GPU: ask Slurm for more memory' "$run.log"
}

case_a_GPU_without_free_memory() {
  local run=$scratch/nothing-free
  FAKE_GPU_MEMORY_MIB=1 exits 78 gpu_ranks 0 "$conf" --run.dir="$run" >"$run.log" 2>&1
  grep -q "2.0 MiB of the GPU's memory cannot be had (1.0 MiB of 1.0 MiB are free): does another process use it" "$run.log" || return 1
  exits 78 gpu_ranks 0 "$conf" --run.dir="$run" --train.device_memory=0.01 >"$run.log" 2>&1
  grep -q "train.device_memory = 0.01 of the 128.0 MiB that are free on the GPU is less than 2.0 MiB" "$run.log"
}

# At the start, while the model is built, and in a step, where rank 0 waits for the sum of the gradients.
case_out_of_memory_on_one_rank() {
  local run=$scratch/full
  export only_rank=1 setting=FAKE_GPU_MEMORY_MIB=40
  exits 78 gpu_ranks 2 "$conf" --run.dir="$run" --model.hidden=8192 >"$run.log" 2>&1
  grep -q 'rank 1 .* out of memory: .* more for parameters and gradients do not fit .* use a smaller model' "$run.log"
  # Parameters, optimizer and cuBLASLt's work space just fit.
  export setting=FAKE_GPU_MEMORY_MIB=82
  exits 78 gpu_ranks 2 "$conf" --run.dir="$run-step" --model.hidden=4096 --train.global_batch=256 \
    --train.micro_batch=128 >"$run-step.log" 2>&1
  grep -q 'out of memory: .* more for activations of a micro-batch .* parameters and gradients .* use a smaller train.micro_batch' "$run-step.log"
  grep -q '^code=78' "$run-step"/outcome/*
}
