#!/usr/bin/env bash
# The Makefile's targets for people: help, info, install, uninstall; and the checks of `make lint` that need no tool.
# shellcheck source=checks.bash
source "$(dirname "${BASH_SOURCE[0]}")/checks.bash"
cd "$root"
# Called from make or not, the Makefile must not see the outer one's options.
unset MAKEFLAGS MFLAGS MAKELEVEL
run_make() { make --no-print-directory BUILD="$build" "$@"; }

for target in all help info test demo lint sanitize install uninstall clean; do
  check "help lists $target" says "make $target " run_make help
done
info=$(run_make info)
for name in compiler flags MPI HDF5 oneDNN Boost fmt xxHash Catch2 Slurm CUDA NCCL; do
  check "info tells about $name" grep -q "^$name" <<<"$info"
done
check "info finds all that the tests need" grep -qx 'nothing is missing' <<<"$info"
check "info names the remedy for what is missing" says 'apt-get install libhdf5-openmpi-dev' \
  run_make info PKG_CONFIG=absent-pkg-config
check "a build without its libraries says so" says 'lacks one of' \
  run_make libraries PKG_CONFIG=absent-pkg-config
check "and fails" fails run_make libraries PKG_CONFIG=absent-pkg-config
check "packages: nothing to do is silent" test -z "$(tools/packages bash coreutils)"

# A file of somebody else's in the same folders must survive.
mkdir -p "$scratch/dest/opt/share/lockstep/sbatch"
echo mine >"$scratch/dest/opt/share/lockstep/sbatch/mine.sbatch"
tree() { (cd "$scratch/dest" && find . -type f | sort); }
before=$(tree)
check "install" run_make install DESTDIR="$scratch/dest" PREFIX=/opt
for file in bin/lockstep share/lockstep/sbatch/train.sbatch share/lockstep/datasets/fashion-mnist/import \
  share/doc/lockstep/LICENSE share/doc/lockstep/docs/formats.md; do
  check "$file is installed" test -s "$scratch/dest/opt/$file"
done
check "programs are executable" test -x "$scratch/dest/opt/share/lockstep/datasets/fashion-mnist/import"
moved=$scratch/moved
cp -r "$scratch/dest/opt" "$moved"
check "the installed program runs from any place" exits 0 env -C / "$moved/bin/lockstep" --version
check "the installed recipe finds its program" \
  env -C / "$moved/share/lockstep/datasets/fashion-mnist/import" "$scratch/fashion"
check "uninstall" run_make uninstall DESTDIR="$scratch/dest" PREFIX=/opt
check "uninstall leaves what was there before" diff <(echo "$before") <(tree)

# Faults that `make lint` must find, each in a file that has nothing else wrong.
cd "$scratch"
cp -r "$root/test/lint" "$scratch/lint"
mkdir -p "$scratch/tree/test" "$scratch/tree/src/core" "$scratch/tree/src/train"
mv "$scratch/lint" "$scratch/tree/test/lint"
cd "$scratch/tree"
fault() { mkdir -p "$(dirname "$1")" && printf '%s\n' "$2" >"$1"; }
fault src/train/good.cpp '#include "core/error.h"'
check "includes: upwards is fine" test/lint/includes src/train/good.cpp
fault src/core/bad.cpp '#include "train/run.h"'
check "includes: downwards is found" says 'src/core/bad.cpp:1: core may not include train/' test/lint/includes
check "and fails" fails test/lint/includes
fault src/train/bare.h '#include "run.h"'
check "includes: a bare file name is found" says 'src/train/bare.h:1: "run.h"' test/lint/includes src/train/bare.h
fault src/train/mpi.cpp '#include <mpi.h>'
check "includes: a header of another folder's is found" says '<mpi.h> is for' test/lint/includes src/train/mpi.cpp
fault src/new/a.cpp '#include "core/error.h"'
check "includes: a folder that is not listed is found" says 'src/new is not in' test/lint/includes src/new/a.cpp
fault src/core/a.h 'using namespace std;'
check "text: using namespace in a header is found" says 'src/core/a.h:1: no using' test/lint/text src/core/a.h
check "and fails" fails test/lint/text src/core/a.h
seq 401 | sed 's|^|// |' >src/core/long.cpp
check "text: a long file is found" says '401 lines' test/lint/text src/core/long.cpp
fault src/core/path.cpp "// /$(printf home)/somebody/data"
check "text: a path of one machine is found" says 'path of one machine' test/lint/text src/core/path.cpp
check "text: a good file is fine" test/lint/text src/train/good.cpp
summary
