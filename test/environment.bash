# shellcheck shell=bash
# What every test program needs around it; sourced in the root of the repository.

# Open MPI refuses root otherwise, and more ranks than cores.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMP_NUM_THREADS=1
# On a machine with GPUs `auto` would take them: no test sees one, not even the stand-in's, but where it says so.
export CUDA_VISIBLE_DEVICES=
see_gpus() { unset CUDA_VISIBLE_DEVICES; }
# shellcheck disable=SC2034 # for those that source this
seeing_gpus=(env -u CUDA_VISIBLE_DEVICES) # before a command
# Reports end the process with a code of their own; too much memory is refused, as without sanitizers; leaks of libraries are listed, with reasons, in the files.
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:exitcode=99:allocator_may_return_null=1}
export LSAN_OPTIONS=${LSAN_OPTIONS:-suppressions=$PWD/test/lsan.supp:print_suppressions=0}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
