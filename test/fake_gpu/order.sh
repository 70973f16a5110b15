#!/usr/bin/env bash
# test/fake_gpu/order.sh BUILD: runs the tests of operations on two fake GPUs, of which one takes blocks, threads and
# streams from the last to the first. All results must have the same bits: no kernel may depend on an order that no
# GPU promises.
set -euo pipefail
build=$1
export LOCKSTEP_CUDA_LIBRARY=$build/fake_gpu/liblockstep_cuda.so
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT

LOCKSTEP_OP_BITS=$folder/forward "$build/test/unit/tests" "[ops]" --use-colour no
LOCKSTEP_OP_BITS=$folder/reverse FAKE_GPU_ORDER=reverse "$build/test/unit/tests" "[ops]" --use-colour no
# A line for each result: what is not there was not compared.
if [[ $(wc -l <"$folder/forward") -lt 100 ]] || ! diff "$folder/forward" "$folder/reverse"; then
  echo "FAILED: results have other bits where blocks and threads come in another order, or too few were written"
  echo "0 passed, 1 failed"
  exit 1
fi
echo "$(wc -l <"$folder/forward") results have the same bits in both orders"
echo "1 passed, 0 failed"
