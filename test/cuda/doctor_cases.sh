# shellcheck shell=bash
# What `lockstep doctor` finds where training would take GPUs. Sourced by `test`.
# shellcheck disable=SC2154

# doctor_ranks N ARGS...: the parts that have to do with GPUs.
doctor_ranks() { command=doctor gpu_ranks "$@" --only="${parts:-device,compute,model,communication}" --limit="${limit:-20}"; }

case_the_doctor_measures_GPUs_and_NCCL() {
  local found=$scratch/doctor
  exits 0 doctor_ranks 2 "$conf" --train.precision=bf16 --json >"$found" 2>&1 || return 1
  [[ $(grep -o '"gemm_type":"bf16"' "$found" | wc -l) == 2 && $(grep -o '"micro_batch_seconds":[0-9]' "$found" | wc -l) == 2 ]] &&
    [[ $(grep -o '"problem":null,"device":"cuda Fake GPU sm_90' "$found" | wc -l) == 2 ]] &&
    grep -q '"all_reduce.nccl.000000004096":[0-9]' "$found" && ! grep -q 'all_reduce.auto' "$found" &&
    grep -q '"advice":\["NCCL: a step of this model needs ' "$found"
}

case_the_doctor_measures_both_ways_of_summing_if_asked() {
  local found=$scratch/doctor-ways
  parts=communication limit=4 exits 0 doctor_ranks 2 --comm >"$found" 2>&1 || return 1
  grep -qE '^  nccl 4.0 KiB +[0-9.]+ ms  busbw +[0-9.]+ GB/s$' "$found" && grep -qE '^  auto 4.0 KiB .* by ' "$found" &&
    grep -qE '^  device +cuda Fake GPU' "$found"
}

case_the_doctor_takes_the_CPU_where_training_would() {
  local found=$scratch/doctor-cpu
  exits 0 doctor_ranks 2 "$conf" --device=cpu >"$found" 2>&1 || return 1
  grep -qE '^  device +cpu ' "$found" && grep -qE '^  auto 4.0 KiB ' "$found" && ! grep -q nccl "$found" || return 1
  exits 0 doctor_ranks 2 --device=cpu >"$found" 2>&1 && grep -qE '^  device +cpu ' "$found" || return 1
  FAKE_GPU_DRIVER=0 exits 0 doctor_ranks 2 "$conf" --device=auto >"$found" 2>&1 && grep -qE '^  no GPU +this node has no NVIDIA driver' "$found"
}

case_the_doctor_names_who_has_no_GPU_and_measures_nothing_instead() {
  local found=$scratch/doctor-mixed
  only_rank=1 setting=FAKE_GPU_DRIVER=0 exits 78 doctor_ranks 2 "$conf" --device=auto >"$found" 2>&1 || return 1
  grep -q '^  failed: rank 0 on .* (and 1 more): rank 1 on .* has no GPU, rank 0 on .* has GPUs' "$found" && ! grep -q 'GEMM\|micro-batch\| auto ' "$found" &&
    [[ $(grep -c 'failed: ' "$found") == 1 ]] || return 1
  FAKE_GPU_COUNT=1 exits 78 doctor_ranks 2 "$conf" >"$found" 2>&1 && grep -q 'see 1 GPU (GPU-' "$found" || return 1
  only_rank=1 setting=FAKE_GPU_FAULT=cudaSetDevice:1:cudaErrorDevicesUnavailable exits 70 doctor_ranks 2 "$conf" >"$found" 2>&1 &&
    grep -q '^  failed: rank 1 on .* is taken: it is in exclusive mode' "$found"
}

case_the_doctor_tells_of_GPUs_that_differ() {
  local found=$scratch/doctor-differ
  only_rank=1 setting=FAKE_GPU_CAPABILITY=8.0 exits 0 doctor_ranks 2 "$conf" >"$found" 2>&1 || return 1
  grep -q '^  warning: rank 1 on .* computes on cuda Fake GPU sm_80.*, rank 0 on .* on cuda Fake GPU sm_90' "$found"
}

case_the_doctor_tells_of_a_model_that_does_not_fit() {
  local found=$scratch/doctor-full
  FAKE_GPU_MEMORY_MIB=40 exits 78 doctor_ranks 2 "$conf" --model.hidden=8192 >"$found" 2>&1 || return 1
  grep -q '^  failed: rank 0 on .*out of memory: .* more for parameters and gradients do not fit' "$found" && grep -qE '^  nccl 4.0 KiB ' "$found"
}

case_the_doctor_names_the_rank_whose_NCCL_fails() {
  local found=$scratch/doctor-nccl
  FAKE_GPU_FAULT=ncclAllReduce:3:ncclRemoteError:1 exits 76 doctor_ranks 2 "$conf" >"$found" 2>&1 || return 1
  grep -q '^  failed: rank 1 on .*ncclAllReduce: .*remote' "$found" && grep -qE '^  GEMM f32 ' "$found"
}

# When it has computed, and goes to its NCCL: nobody waits for it there.
case_the_doctor_names_who_loses_its_GPU() {
  local found=$scratch/doctor-lost
  parts=communication FAKE_GPU_FAULT=cudaSetDevice:2:cudaErrorDevicesUnavailable:1 exits 70 doctor_ranks 2 "$conf" >"$found" 2>&1 || return 1
  grep -q '^  failed: rank 1 on .* is taken: it is in exclusive mode' "$found" && [[ $(grep -c 'failed: ' "$found") == 1 ]]
}

case_the_doctor_leaves_a_GPU_that_does_not_come_to_an_end() {
  local found=$scratch/doctor-endless
  parts=communication FAKE_GPU_FAULT=cudaEventRecord:30:stall:1 limit=3 exits 76 doctor_ranks 2 "$conf" >"$found" 2>&1 || return 1
  grep -q '^  failed: rank [01] on .*not done within 3 s' "$found"
}

case_a_GPU_that_stands_still_ends_the_doctor() {
  local found=$scratch/doctor-still
  FAKE_GPU_FAULT=fill:1:stall:1 limit=10 exits 76 doctor_ranks 2 "$conf" >"$found" 2>&1 || return 1
  grep -q '^  failed: rank 1 on .*matrix products: no answer within 10 s' "$found"
}
