# shellcheck shell=bash
# One rank hears a second late that the first meeting in MPI_Init is over: Slurm must hold the other one at the second
# meeting until then. A message before would find the late one without a receiver for it, and end it by SIGSEGV.
# nodes: 2
# shellcheck disable=SC2154

run_case() {
  set_config train.steps 3
  set_fault "PMIx_Fence_nb:1:0:slow=1000"
  submit --nodes=2
  await_end
  await_struck 0
  expect_job COMPLETED 0 0:0
  expect_outcome 0 0 3 'steps are done'
}
