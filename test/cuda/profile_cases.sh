# shellcheck shell=bash
# What traces, profilers and metrics tell of GPUs. Sourced by `test`.
# shellcheck disable=SC2154

# As rank 0's profiler, and as the driver's library.
profiler=NVTX_INJECTION64_PATH=$PWD/$build/fake_gpu/libnvtx_ranges.so
driver=$PWD/$build/fake_gpu/nvml

# gpu_rows_fit FILE STEPS: the trace of a rank. The spans of each of the GPU's rows lie within or beside each other; each
# forward pass lies between its call and the end of its step, which waits for the loss.
gpu_rows_fit() {
  local span='.*{"name":"\([^"]*\)","cat":"[^"]*","ph":"X","ts":\([0-9]*\),"dur":\([0-9]*\),"pid":[0-9]*,"tid":\([0-9]*\).*'
  sed -n "s/$span/\4;\2;\3;\1/p" "$1" | awk -F';' -v steps="$2" '
    function wrong(text) { print text; failed = 1; exit 1 }
    {
      row = $1 + 0; begin = $2 + 0; end = begin + $3; name = $4
      ++count[row, name]
      if (row >= 2) {
        if (begin < last_begin[row]) wrong(name " of row " row " begins before the one before it")
        while (depth[row] > 0 && stack[row, depth[row]] <= begin) --depth[row]
        if (depth[row] > 0 && end > stack[row, depth[row]]) wrong(name " of row " row " lies across the end of another")
        stack[row, ++depth[row]] = end; last_begin[row] = begin
      }
      if (row == 0 && name == "forward") called[count[0, name]] = begin
      if (row == 0 && name == "step") for (i = 1; i <= count[0, "forward"]; ++i) if (called[i] >= begin) ended[i] = end
      if (row == 2 && name == "forward") { from[count[2, name]] = begin; to[count[2, name]] = end }
    }
    END {
      if (failed) exit 1
      passes = count[0, "forward"]
      for (i = 1; i <= passes; ++i) {
        if (from[i] < called[i]) wrong("forward " i " happened before it was called")
        if (to[i] > ended[i] || to[i] < from[i]) wrong("forward " i " ends behind its step")
      }
      if (passes < 2 * steps || count[2, "forward"] != passes || count[2, "backward"] != passes) wrong("passes are missing")
      if (count[2, "optimizer"] != steps || count[2, "reduction"] != steps) wrong("optimizer or reduction are missing")
      if (count[4, "batch"] < passes) wrong("copies are missing")
      for (key in count) if (key ~ /^3.all-reduce of [0-9]+ f32$/) sums += count[key]
      if (sums < steps) wrong("sums are missing")
    }'
}

case_traces_and_profilers_see_the_GPU() {
  local run=$scratch/traced ranges=$scratch/ranges rank
  export only_rank=0 setting=$profiler NVTX_RANGES=$ranges
  gpu_ranks 2 "$conf" --run.dir="$run" --trace "$run.json" --train.reduction=fast >"$run.log" 2>&1
  for rank in 0 1; do
    gpu_rows_fit "$run.$rank.json" 8
    [[ $(grep -c '"thread_name".*"name":"GPU \(compute\|communication\|copies\)"' "$run.$rank.json") == 3 ]]
  done
  [[ $(grep -cx 'step' "$ranges") == 8 && $(grep -cx '  forward' "$ranges") == $(grep -cx '  backward' "$ranges") && $(grep -cx '  optimizer' "$ranges") == 8 ]]
  grep -qx 'read' "$ranges" # the loader's thread has a depth of its own
}

case_a_fault_of_the_trace_is_none_of_the_run() {
  local run=$scratch/untimed
  FAKE_GPU_FAULT=cudaEventElapsedTime:150:cudaErrorInvalidValue gpu_ranks 0 "$conf" --run.dir="$run" --trace "$run.json"
  each_step_once "$run/metrics.csv" 8 && grep -q '"name":"forward".*"tid":2' "$run.0.json"
}

case_metrics_tell_how_the_GPU_is_doing() {
  local run=$scratch/metered columns=gpu_utilisation,gpu_memory,gpu_clock,gpu_power,gpu_temperature,gpu_throttled
  local told=87,3221225472,1755,412,61,'power cap + heat'
  export LD_LIBRARY_PATH=$driver${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  # Begun on the CPU, and ended there.
  gpu_ranks 0 "$conf" --run.dir="$run" --device=cpu --train.steps=4 >"$run.log" 2>&1
  [[ $(head -n 1 "$run/timings.csv") != *gpu* ]]
  gpu_ranks 2 "$conf" --run.dir="$run" >>"$run.log" 2>&1
  "$lockstep" status --json "$run" | grep -q '"gpu_power":412.5,"gpu_temperature":61,"gpu_throttled":"power cap + heat"'
  gpu_ranks 0 "$conf" --run.dir="$run" --device=cpu --train.steps=10 >>"$run.log" 2>&1
  each_step_once "$run/timings.csv" 10
  [[ $(head -n 1 "$run/timings.csv") == *,"$columns" ]]
  [[ $(grep -c ",$told\$" "$run/timings.csv") == 1 && $(grep "$told" "$run/timings.csv") == 8,* ]]
  [[ $(grep -c '[0-9],,,,,,$' "$run/timings.csv") == 9 ]]
  grep -q 'gpu/power' "$run"/tensorboard/*
}

case_without_NVML_a_run_says_so_and_goes_on() {
  local run=$scratch/unmetered ranges=$scratch/ranges-alone
  export LD_LIBRARY_PATH=$driver${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} FAKE_NVML=absent
  # Profilers need no trace.
  env "$profiler" NVTX_RANGES="$ranges" "$lockstep" train "$conf" --run.dir="$run" --run.tensorboard=off >"$run.log" 2>&1
  grep -q 'no utilisation, power and temperature of the GPU: nvmlInit: Driver Not Loaded' "$run.log"
  [[ $(grep -c '[0-9],,,,,,$' "$run/timings.csv") == 8 && $(grep -cx 'step' "$ranges") == 8 ]]
}

# Three ranks, of which rank 1's GPU takes longer for the loss from the first on; the others wait for the sum of the first bucket
# before they have begun that of the last.
case_a_slow_GPU_is_named_with_its_reason_and_what_others_wait_for_is_communication() {
  local run=$scratch/slow
  export LD_LIBRARY_PATH=$driver${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} only_rank=1 setting=FAKE_NVML=hot
  FAKE_GPU_FAULT='(cross_entropies<T>):1:slower=150:1' gpu_ranks 3 "$conf" --run.dir="$run" --model.hidden=512 --train.steps=9 \
    --train.reduction=exact --comm.overlap=on --comm.bucket_mib=1 --train.micro_batch=16 --guard.straggler_steps=5 \
    --guard.straggler_factor=1.5 >"$run.log" 2>&1
  cat "$run/ranks.csv" "$run/events.csv"
  # All have a power cap, and are warm.
  [[ $(grep -cE ',straggler,rank 1 on [^ ]+ is slow: over 5 steps .* slow in computing: .* ms; what slows its GPU down: heat \(hardware\)$' \
    "$run/events.csv") == 1 ]]
  grep -qE '^stragglers=rank 1 on [^ ]+ \(computing, GPU: heat \(hardware\)\)' "$run/status"
  ! grep ',straggler,rank [02] ' "$run/events.csv"
  awk -F, 'NR == 1 { next } $1 == 1 { worked = $5; waited = $6; next } { least = NR == 2 || $6 < least ? $6 : least }
    END { exit !(worked > 0.15 && least > waited) }' "$run/ranks.csv"
}

# Of a rank alone, whose GPU takes three times as long for a micro-batch as the loader: the host waits for most of the first six,
# the GPU for the first one.
case_data_that_come_while_the_GPU_computes_are_not_waited_for() {
  local run=$scratch/hidden
  FAKE_GPU_FAULT='(cross_entropies<T>):1:slower=60' LOCKSTEP_FAULT=pread:1:0:slower=20:small/ preloaded=yes ranks 0 "$conf" \
    --run.dir="$run" --train.steps=3 --train.micro_batch=8 --data.prefetch=1 --data.check=layout --data.shuffle_window=4 >"$run.log" 2>&1
  cat "$run/timings.csv"
  [[ $(rows "$run/timings.csv") == 4 ]]
  awk -F, '$1 == 1 { exit !($4 > 0.3 && $3 < 0.8 * $4) }' "$run/timings.csv"
}
