#!/usr/bin/env bash
# The Makefile's targets for people: help, info, install, uninstall; and the checks of `make lint` that need no tool.
# shellcheck source=checks.bash
source "$(dirname "${BASH_SOURCE[0]}")/checks.bash"
cd "$root"
# Called from make or not, the Makefile must not see the outer one's options.
unset MAKEFLAGS MFLAGS MAKELEVEL
run_make() { make --no-print-directory BUILD="$build" "$@"; }

for target in all help info test demo lint sanitize spank install install-spank uninstall deb clean; do
  check "help lists $target" says "make $target " run_make help
done
info=$(run_make info)
for name in compiler flags MPI HDF5 oneDNN Boost fmt xxHash Catch2 Slurm 'Slurm headers' CUDA NCCL; do
  check "info tells about $name" grep -q "^$name" <<<"$info"
done
check "info finds all that the tests need" grep -qx 'nothing is missing' <<<"$info"
check "info names the remedy for what is missing" says 'apt-get install libhdf5-openmpi-dev' \
  run_make info PKG_CONFIG=absent-pkg-config
check "info names the remedy for missing Slurm headers" says 'Slurm headers    not found; the SPANK plugin is left out' \
  run_make info SLURM_INCLUDE=/absent
check "a build without its libraries says so" says 'lacks one of' \
  run_make libraries PKG_CONFIG=absent-pkg-config
check "and fails" fails run_make libraries PKG_CONFIG=absent-pkg-config

# Headers of NVIDIA's that tell versions, the oldest that will do but for what a check changes.
nvidia=$scratch/nvidia
mkdir -p "$nvidia/bin" "$nvidia/include"
printf '#!/bin/sh\necho "release 12.8, V12.8.57"\n' >"$nvidia/bin/nvcc"
chmod +x "$nvidia/bin/nvcc"
touch "$nvidia/include/cudnn.h"
with_nvidia() { # CUDA, cuDNN and NCCL, as their macros have it
  printf '#define CUDART_VERSION  %s\n' "$1" >"$nvidia/include/cuda_runtime_api.h"
  printf '#define CUDNN_MAJOR %s\n#define CUDNN_MINOR %s\n#define CUDNN_PATCHLEVEL 1\n' "${2%.*}" "${2#*.}" \
    >"$nvidia/include/cudnn_version.h"
  printf '#define NCCL_MAJOR %s\n#define NCCL_MINOR %s\n#define NCCL_PATCH 3\n' "${3%.*}" "${3#*.}" >"$nvidia/include/nccl.h"
}
make_nvidia() { run_make CUDNN_HOME= NCCL_HOME= CUDA_HOME="$nvidia" "$@"; }
# shellcheck disable=SC2016 # for make
show_libraries() { make_nvidia --eval='show: ; @echo "$(CUDA_LIBRARY) $(FAKE_GPU)"' show; }
with_nvidia 12080 9.0 2.19
check "the oldest CUDA, cuDNN and NCCL will do" says "CUDA backend     $build/liblockstep_cuda.so" make_nvidia info
check "info tells cuDNN's version" says 'cuDNN            9.0.1, ' make_nvidia info
check "and NCCL's" says 'NCCL             2.19.3, ' make_nvidia info
check "and the stand-in is built with them" says "$build/fake_gpu/liblockstep_cuda.so" show_libraries
with_nvidia 13000 10.2 3.0
check "and newer ones" says "CUDA backend     $build/liblockstep_cuda.so" make_nvidia info
left_out() { # what is said of versions too old: in one line, and neither backend nor stand-in is built
  local told
  told=$(make_nvidia info | grep -F 'left out: ')
  [[ $told == "CUDA backend     left out: $1 is needed, $nvidia/include/$2" ]] && [[ $(show_libraries) == ' ' ]]
}
with_nvidia 12060 9.0 2.19
check "CUDA 12.6 is too old" left_out 'CUDA 12.8 or newer' 'cuda_runtime_api.h is of 12.6; set CUDA_HOME'
check "cuda-check says so too" says 'cuda-check: CUDA 12.8 or newer is needed' make_nvidia cuda-check
with_nvidia 12080 8.9 2.19
check "cuDNN 8.9 is too old" left_out 'cuDNN 9.0 or newer' 'cudnn_version.h is of 8.9; set CUDNN_HOME'
with_nvidia 12080 9.0 2.18
check "NCCL 2.18 is too old" left_out 'NCCL 2.19 or newer' 'nccl.h is of 2.18; set NCCL_HOME'
echo >"$nvidia/include/nccl.h"
check "a header without a version is named" left_out 'NCCL 2.19 or newer' \
  'nccl.h is of a version that it does not tell; set NCCL_HOME'
with_nvidia 12080 9.0 2.19
check "CUDA=0 is told as that" says 'left out: CUDA=0' make_nvidia info CUDA=0

check "packages: nothing to do is silent" test -z "$(test/setup/packages bash coreutils)"

# A file of somebody else's in the same folders must survive.
mkdir -p "$scratch/dest/opt/share/lockstep/sbatch"
echo mine >"$scratch/dest/opt/share/lockstep/sbatch/mine.sbatch"
tree() { (cd "$scratch/dest" && find . -type f | sort); }
before=$(tree)
check "install" run_make install DESTDIR="$scratch/dest" PREFIX=/opt
slurm=$(spank/packaging/slurm-version)
check "install tells for which Slurm the plugin is" says "built for Slurm $slurm;" \
  run_make install-spank DESTDIR="$scratch/dest" PREFIX=/opt
told=$(run_make install-spank DESTDIR="$scratch/dest" PREFIX=/opt)
line='  optional /opt/lib/slurm/spank_lockstep.so'
check "and the line for plugstack.conf, without a file that nobody has made" grep -qx -- "$line" <<<"$told"
read -r _ profile site_file <<<"$(grep '^  cp ' <<<"$told")"
check "a profile to start from is told by its place" test -s "$scratch/dest$profile"
check "and the word for it" grep -q "config=$site_file$" <<<"$told"
without_headers() { run_make "$@" DESTDIR="$scratch/none" PREFIX=/opt SLURM_INCLUDE=/absent; }
check "install-spank without Slurm's headers fails" fails without_headers install-spank
check "in one line" test "$(without_headers install-spank 2>&1 | grep -cv '^make')" = 1
check "which names the remedy" says 'set SLURM_INCLUDE' without_headers install-spank
check "and has installed nothing" test ! -e "$scratch/none"
check "install goes on without the plugin" without_headers install
check "with a word" says "no plugin: /absent/slurm/spank.h not found" without_headers install
check "and brings nccl-setup" test -x "$scratch/none/opt/bin/nccl-setup"
for file in bin/lockstep share/lockstep/sbatch/train.sbatch share/lockstep/datasets/fashion-mnist/import \
  share/doc/lockstep/LICENSE share/doc/lockstep/docs/shard-format.md bin/nccl-setup lib/slurm/spank_lockstep.so \
  share/lockstep/profiles/infiniband.conf share/lockstep/sbatch/pytorch.sbatch; do
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

check "the plugin can be installed where Slurm looks" run_make install-spank DESTDIR="$scratch/dest" PREFIX=/opt \
  SLURM_PLUGIN_DIR=/usr/lib64/slurm
check "and lies there" test -s "$scratch/dest/usr/lib64/slurm/spank_lockstep.so"
check "and is uninstalled from there" run_make uninstall DESTDIR="$scratch/dest" PREFIX=/opt \
  SLURM_PLUGIN_DIR=/usr/lib64/slurm
check "which leaves nothing" diff <(echo "$before") <(tree)

# The package, unpacked and run.
if command -v dpkg-deb >/dev/null; then
  check "make deb" run_make deb
  packages=("$build"/slurm-lockstep-nccl_*+slurm"${slurm}"_*.deb)
  check "the package's name carries Slurm's version" test -s "${packages[0]}"
  unpacked=$scratch/unpacked
  mkdir "$unpacked"
  check "it unpacks" dpkg-deb --raw-extract "${packages[0]}" "$unpacked"
  check "its nccl-setup runs" says 'nccl-setup 0.' "$unpacked/usr/bin/nccl-setup" --version
  snippet=$unpacked/etc/slurm/plugstack.conf.d/lockstep.conf
  read -r _ place _ <"$snippet" || true
  check "plugstack.conf.d names the plugin in the package" test -s "$unpacked$place"
  check "its configuration is right" "$unpacked/usr/bin/nccl-setup" check --draft "$unpacked/etc/slurm/nccl-setup.conf"
  check "its configuration is for all to read" test "$(stat -c %a "$unpacked/etc/slurm/nccl-setup.conf")" = 644
  check "it has a batch script for PyTorch" test -s "$unpacked/usr/share/lockstep/sbatch/pytorch.sbatch"
  check "its profiles are right" "$unpacked/usr/bin/nccl-setup" check --draft "$unpacked"/usr/share/lockstep/profiles/*.conf
  check "it depends on this Slurm" grep -q "slurm-wlm-basic-plugins (>= $slurm)" "$unpacked/DEBIAN/control"
  check "and on no later one" grep -q "slurm-wlm-basic-plugins (<< ${slurm%.*}.$(printf %02d $((10#${slurm#*.} + 1)))~)" \
    "$unpacked/DEBIAN/control"
  check "the site's files survive an upgrade" \
    diff <(printf '%s\n' /etc/slurm/nccl-setup.conf /etc/slurm/plugstack.conf.d/lockstep.conf) "$unpacked/DEBIAN/conffiles"
  check "every file has its checksum" env -C "$unpacked" md5sum --quiet --check DEBIAN/md5sums
  check "nothing else is in it" diff <(cd "$unpacked" && find usr -type f | sort) \
    <(cut -c 35- "$unpacked/DEBIAN/md5sums" | sort)
fi
if command -v rpmspec >/dev/null; then
  check "the RPM's release carries Slurm's version" says 'Release:        1.sl2311' \
    rpmspec --define 'slurm_version 23.11.4' --parse spank/lockstep.spec
  check "and it needs that version" says 'Requires:       slurm < 23.12' \
    rpmspec --define 'slurm_version 23.11.4' --parse spank/lockstep.spec
  for_rhel() { rpmspec --define 'slurm_version 23.11.4' --define "rhel $1" --parse spank/lockstep.spec; }
  check "RHEL 9 builds it with a newer compiler than its own" says 'BuildRequires:  gcc-toolset-12-gcc-c++' for_rhel 9
  check "which is switched on for each make" test "$(for_rhel 9 | grep -B 3 '^make' | grep -c '^. /opt/rh/gcc-toolset-12/enable$')" = 2
  check "RHEL 10 needs none" fails says toolset for_rhel 10
fi

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
mkdir -p spank
fault spank/plan/good.cpp '#include "machine/machine.h"
#include "core/text.h"'
check "includes: the plugin's core may use core" test/lint/includes spank/plan/good.cpp
fault spank/machine/bad.cpp '#include "plan/plan.h"'
check "includes: downwards is found in spank" says 'bad.cpp:1: machine may not include plan/' \
  test/lint/includes spank/machine/bad.cpp
fault spank/site/trainer.cpp '#include "data/shard.h"'
check "includes: the trainer is not for the plugin" says 'site may not include data/' \
  test/lint/includes spank/site/trainer.cpp
fault src/train/plugin.cpp '#include "plan/plan.h"'
check "includes: nor the plugin for the trainer" says 'train may not include plan/' \
  test/lint/includes src/train/plugin.cpp
fault spank/command/shell.cpp '#include "plugin/log.h"'
check "includes: the command knows no plugin" says 'command may not include plugin/' \
  test/lint/includes spank/command/shell.cpp
fault spank/plan/slurm.cpp '#include <slurm/spank.h>'
check "includes: Slurm's headers are for the plugin alone" says '<slurm/spank.h> is for spank/plugin/' \
  test/lint/includes spank/plan/slurm.cpp
fault src/train/slurm.cpp '#include "slurm/allocation.h"'
check "includes: our own folder slurm is not Slurm" test/lint/includes src/train/slurm.cpp
fault spank/plan/fmt.cpp '#include <hdf5.h>'
check "includes: nor may the plugin see HDF5" says '<hdf5.h> is for' test/lint/includes spank/plan/fmt.cpp
fault src/core/a.h 'using namespace std;'
check "text: using namespace in a header is found" says 'src/core/a.h:1: no using' test/lint/text src/core/a.h
check "and fails" fails test/lint/text src/core/a.h
seq 401 | sed 's|^|// |' >src/core/long.cpp
check "text: a long file is found" says '401 lines' test/lint/text src/core/long.cpp
fault src/core/path.cpp "// /$(printf home)/somebody/data"
check "text: a path of one machine is found" says 'path of one machine' test/lint/text src/core/path.cpp
check "text: a good file is fine" test/lint/text src/train/good.cpp
summary
