# shellcheck shell=bash
# What `lockstep doctor` says on two nodes, started like the training: of the job, the model and the disk.
# nodes: 2
# shellcheck disable=SC2154

run_case() {
  local out=$work/doctor.out
  on_cluster srun --partition="low_$name" --nodes=2 --ntasks=2 lockstep doctor run.conf >"$out" 2>&1 ||
    expect "the doctor's exit code" "$?" 0
  for line in '  job                  [0-9]+, restart 0' '  ranks                2 on 2 nodes \(n[0-9]+ x 1, n[0-9]+ x 1\)' \
    '  launcher             srun' '  Slurm                slurm' '  clocks               at most [0-9.e-]+ s apart' \
    '  model                mlp with 50890 parameters' '  auto 4.0 KiB ' '  write                one rank ' \
    'fcntl works, seen by other ranks' 'a step of this model needs '; do
    expect_match "what it says" "$(cat "$out")" "$line"
  done
  expect "what it leaves" "$(find "$work" -name '.lockstep-doctor-*')" ''
  expect "exit code where it may not write" \
    "$(on_cluster srun --partition="low_$name" --nodes=2 --ntasks=2 lockstep doctor --dir=/proc --only=folder \
      >"$work/refused.out" 2>&1 && echo 0)" ''
  expect_match "why" "$(cat "$work/refused.out")" 'failed: rank 0 on n[0-9]+: cannot write to /proc: '
}
