#!/bin/bash
# Strikes at a checkpoint save at chosen calls, proves that the fault struck, and that the next start uses the
# previous checkpoint and says why. Usage: test/fault/checkpoint.sh [BUILD_FOLDER]
set -u
build=$(realpath "${1:-build}")
tests=$build/test/mpi/tests
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_fcoll=individual  # as lockstep sets it (comm/mpi_session.h)
ranks=3
passed=0
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# What killed ranks leave behind goes with the rest.
export TMPDIR=$work OMPI_MCA_btl_vader_backing_directory=$work

launch() {  # ranks, step, more arguments of mpirun
  local count=$1
  shift
  timeout -k 2 30 mpirun --oversubscribe -n "$count" "$@" 2>&1
}

check() {  # what, command...
  local what=$1
  shift
  if "$@"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED: $fault: $what"
    sed 's/^/    /' "$work/save.log" "$work/load.log"
  fi
}

strike() {  # fault, "kill" or "error"
  fault=$1
  export LOCKSTEP_TEST_FOLDER=$work/run
  rm -rf "$work/run" "$work"/marker.* && mkdir "$work/run"
  : >"$work/load.log"
  LOCKSTEP_TEST_STEP=1 launch $ranks "$tests" "driver: save the step LOCKSTEP_TEST_STEP" >"$work/save.log"
  check "the first save works" grep -aq "saved step 1" "$work/save.log"
  LOCKSTEP_TEST_STEP=2 LOCKSTEP_FAULT=$fault LOCKSTEP_FAULT_MARKER=$work/marker. LOCKSTEP_FAULT_PATH=.h5.tmp. \
    launch $ranks -x LD_PRELOAD="$build/test/libfault.so" "$tests" \
    "driver: save the step LOCKSTEP_TEST_STEP" >"$work/save.log"
  local code=$?
  check "the fault struck" compgen -G "$work/marker.*" >/dev/null
  check "no file of step 2" test ! -e "$work/run/step-00000002.h5"
  if [ "$2" = kill ]; then
    check "the job was killed" test $code -eq 137
  else
    check "all ranks live on" test $code -eq 0
    check "the same error 73 on all ranks" grep -aq "error 73: .* rank [0-9] on " "$work/save.log"
    check "no temporary file stays" test -z "$(find "$work/run" -name '*.tmp.*')"
  fi
  launch 2 "$tests" "driver: load the newest" >"$work/load.log"
  check "the previous checkpoint loads" grep -aq "loaded step 1" "$work/load.log"
  if [ "$2" = kill ]; then
    check "it says why" grep -aq "step 2 was never completed by job 17" "$work/load.log"
    check "the temporary file is removed" grep -aq "removed .step-00000002.h5.tmp.17.0" "$work/load.log"
  fi
}

for when in H5Dwrite:3 H5Dwrite:10 H5Fflush:1; do
  strike $when:1:kill kill
  strike $when:all:kill kill
done
strike fsync:1:2:kill kill
strike rename:1:0:kill kill

for fault in H5Dwrite:4:1:fail H5Dwrite:5:all:fail H5Fflush:1:2:fail H5Fclose:1:1:fail fsync:1:1:eio \
  fsync:2:0:eio rename:1:0:fail pwrite:1:0:fail pwrite:2:0:eio pwrite:5:0:fail pwrite:1:1:fail pwrite:2:2:eio \
  pwrite:2:all:fail; do
  strike $fault error
done
for fault in pwrite:1:0:quota pwrite:2:0:quota fsync:1:1:quota rename:1:0:quota; do
  strike $fault error
  check "it names the quota" grep -aq "error 73: .*[Dd]isk quota exceeded" "$work/save.log"
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
