# shellcheck shell=bash
# A scaling run on 1 and 2 nodes: table, picture, verdict.
# nodes: 2
# shellcheck disable=SC2154

run_case() {
  local out
  STEPS=20 submit_script scaling.sbatch --nodes=2 -- run.conf
  await_end
  expect_job COMPLETED 0 0:0
  out=$work/scaling-$job
  expect "nodes and ranks" "$(cut -d, -f1,2 "$out/scaling.csv" | xargs)" 'nodes,ranks 1,1 2,2'
  expect "efficiency of one node" "$(sed -n 2p "$out/scaling.csv" | cut -d, -f6)" 1.000
  awk -F, 'NR > 1 && !($3 > 0 && $4 > 0 && $5 >= 0 && $5 < 1 && $6 > 0) { exit 1 }' "$out/scaling.csv" ||
    expect "numbers" "$(cat "$out/scaling.csv")" "rates, seconds, shares"
  expect "steps" "$(grep -c '' "$out"/nodes-*/metrics.csv | cut -d: -f2 | xargs)" '21 21'
  expect "samples of the first step" "$(tail -qn +2 "$out"/nodes-*/metrics.csv | grep ^1, | cut -d, -f3 | xargs)" '32 64'
  expect_match "the picture" "$(head -c 4 "$out/scaling.png")" PNG
  expect_match "what the job says" "$(cat "$work/scaling-$job.out")" 'verdict: efficiency (falls below|stays above) 80 %'
}
