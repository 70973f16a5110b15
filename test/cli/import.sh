#!/usr/bin/env bash
# lockstep data import on the command line: options, what it prints, exit codes; the recipes in datasets/.
# shellcheck source=checks.bash
source "$(dirname "${BASH_SOURCE[0]}")/checks.bash"
cd "$scratch"
import() { "$lockstep" data import "$@"; }

for format in idx npy csv hdf5 cifar; do
  check "--help lists $format" says "  $format " import --help
  check "import $format --help shows its options" says "lockstep data import $format --" import "$format" --help
  check "import $format without options is a usage error" complains 64 "see lockstep data import $format --help" import "$format"
done

printf 'length,width,kind\n1,2,tulip\n3,5,rose\n4,7,rose\n' >flowers.csv
check "a table is imported" says 'flowers: 3 samples of 2, 2 classes in 2 shards, mean 2.66667 to 4.66667' \
  import csv --file flowers.csv --label kind --shards 2 --out flowers
check "and verified" says 'flowers: OK, 3 samples in 2 shards' "$lockstep" data verify flowers
check "its classes have names" diff <(printf 'rose\ntulip\n') flowers/classes.txt
check "which are told" says 'classes: 0 rose, 1 tulip' import csv --file flowers.csv --label kind --out again
printf 'length,width,kind\n1,2,tulip\n' >few.csv
check "a test split" import csv --file few.csv --label kind --normalise-from flowers --out few
check "has the training split's normalisation" diff <("$lockstep" data info flowers | grep ^normalisation) \
  <("$lockstep" data info few | grep ^normalisation)
check "classes without a sample are told" says 'warning: 1 of 2 classes has no sample: 0 (rose)' \
  import csv --file few.csv --label kind --normalise-from flowers --out few-again
check "not where each has one" fails says warning import csv --file flowers.csv --label kind --out full
printf 'width,length,kind\n2,1,tulip\n' >swapped.csv
check "columns in another order than the training split's" complains 65 'swapped.csv has feature 1 "width", where flowers has "length"' \
  import csv --file swapped.csv --label kind --normalise-from flowers --out swapped
check "numbers to predict" says '1 numbers to predict' import csv --file flowers.csv --target width --ignore kind --out widths

printf 'length,width,kind\n1,2,tulip\n3,wide,rose\n' >bad.csv
check "a bad field: file, line, column, value" \
  complains 65 'bad.csv:3: column 2 (width) is "wide", wanted a finite number' \
  import csv --file bad.csv --label kind --out bad
check "nothing is left behind" test -z "$(find . -name '*bad*' ! -name bad.csv)"
check "a missing file" complains 66 'cannot open absent.csv' import csv --file absent.csv --label 1 --out bad
check "a missing column" complains 64 'did you mean kind?' import csv --file bad.csv --label kin --out bad
check "an output that is there" complains 73 'flowers: it exists' import csv --file flowers.csv --label kind --out flowers
check "an option twice" complains 64 'more than once' import csv --file a --file b --label kind --out bad
check "an option cut short" complains 64 "unrecognised option '--lab'" import csv --file a --lab kind --out bad
check "no array" complains 65 'bad.csv is not an NPY file' import npy --x bad.csv --y bad.csv --out bad
check "no HDF5 file" complains 65 'open bad.csv as an HDF5 file' import hdf5 --file bad.csv --x a --y b --out bad

first=(flowers/*.h5)
check "a group is no dataset" complains 65 '/ in flowers/00000.h5 is a group, no dataset; in it are: class_names, feature_names, x, y' \
  import hdf5 --file flowers/00000.h5 --x / --y y --out bad
check "shards are HDF5 files like any other, several of them" says 'copy: 3 samples of 2, 2 classes' \
  import hdf5 --file "${first[@]}" --x x --y /y --out copy
# 1797 lines of 64 pixels and a class, as the real file has.
awk 'BEGIN { for (i = 0; i < 1797; i++) { for (p = 0; p < 64; p++) printf "%d,", (i * 7 + p) % 17; print i % 10 } }' \
  /dev/null | gzip -n >digits.csv.gz
recipe() { LOCKSTEP=$lockstep "$root/datasets/$1/import" "${@:2}"; }
check "digits" says 'digits/train and digits/test are ready' recipe digits digits digits.csv.gz
check "has 1500 samples to train" says '1500 in 2 shards' "$lockstep" data info digits/train
check "and 297 to test" says '297 in 1 shards' "$lockstep" data info digits/test
check "done once" says 'is there already' recipe digits digits digits.csv.gz
check "a file of another length is none" complains 65 '1797 lines' recipe digits other <(gzip -c flowers.csv)
check "and leaves nothing" test -z "$(find . -name '*other*')"

mkdir -p cifar-10-batches-bin
record() { printf '%b' "\\x0$1" && head -c 3072 /dev/zero | tr '\0' "\\$((100 + $1))"; }
for batch in data_batch_{1..5} test_batch; do
  for label in 0 7; do record $label; done >"cifar-10-batches-bin/$batch.bin"
done
tar -czf cifar.tar.gz cifar-10-batches-bin
check "cifar-10 of an archive" says 'ready' recipe cifar-10 cifar cifar.tar.gz
check "has all batches" says '10 in 5 shards' "$lockstep" data info cifar/train
check "of three channels" says '3x32x32 of uint8' "$lockstep" data info cifar/test
check "cifar-10 of a folder" says 'ready' recipe cifar-10 cifar-2 cifar-10-batches-bin
rm cifar-10-batches-bin/data_batch_4.bin
check "a missing batch is named" complains 66 'data_batch_4.bin' recipe cifar-10 cifar-3 cifar-10-batches-bin
check "no archive is bad data" complains 65 'is no archive' recipe cifar-10 cifar-3 flowers.csv
check "and leaves nothing" test -z "$(find . -name '*cifar-3*')"
summary
