# shellcheck shell=bash
# shellcheck disable=SC2034 # variables that test/gpu/check reads
# What test/gpu/check finds out about the machine: GPUs, NVIDIA's headers and libraries, what the build needs.

# Sets gpus (a line "index, name, driver, capability, memory" for each), gpu_count, arch (90). Without a GPU: false,
# and why in `problem`.
find_gpus() {
  gpus='' gpu_count=0 arch='' problem=''
  if ! command -v nvidia-smi >/dev/null; then
    problem='there is no nvidia-smi, hence no driver for NVIDIA GPUs'
    return 1
  fi
  if ! gpus=$(timeout 30 nvidia-smi --query-gpu=index,name,driver_version,compute_cap,memory.total --format=csv,noheader 2>&1); then
    problem="nvidia-smi failed: $gpus"
    return 1
  fi
  gpu_count=$(grep -c . <<<"$gpus" || true)
  if ((gpu_count == 0)); then
    problem='nvidia-smi lists no GPU'
    return 1
  fi
  arch=$(head -n 1 <<<"$gpus" | cut -d, -f4 | tr -d ' .')
}

# The folders in which Python's wheels keep NVIDIA's libraries: most machines with PyTorch have cuDNN and NCCL there.
wheel_folders() {
  timeout 60 python3 -c 'import nvidia; [print(p) for p in nvidia.__path__]' 2>/dev/null |
    while read -r folder; do ls -d "$folder"/*/ 2>/dev/null; done
}

# first_of NAME...: the first of the files that is there.
first_of() {
  local file
  for file in "$@"; do [[ ! -e $file ]] || { echo "$file" && return; }; done
}

# gather_nvidia FOLDER: makes FOLDER/include and FOLDER/lib with what the build needs of NVIDIA's, wherever it is, under
# the names that a linker looks for. Sets CUDA_HOME, `nvidia_missing` and LD_LIBRARY_PATH.
gather_nvidia() {
  local home=$1 header library place found folders=() part
  local -a wanted=(cuda_runtime_api.h:cudart cublasLt.h:cublasLt cudnn.h:cudnn nccl.h:nccl)
  nvidia_missing=()
  if [[ -z ${CUDA_HOME:-} ]]; then
    CUDA_HOME=$(command -v nvcc || first_of /usr/local/cuda/bin/nvcc /opt/cuda/bin/nvcc)
    CUDA_HOME=${CUDA_HOME:+$(dirname "$(dirname "$(readlink -f "$CUDA_HOME")")")}
  fi
  export CUDA_HOME
  [[ -x ${CUDA_HOME:-/nowhere}/bin/nvcc ]] || nvidia_missing+=(nvcc)
  mapfile -t folders < <(
    printf '%s\n' "${CUDNN_HOME:-}" "${NCCL_HOME:-}" "${CUDA_HOME:-}" "${CUDA_HOME:-}/targets/x86_64-linux" /usr
    wheel_folders
  )
  rm -rf "$home"
  mkdir -p "$home/include" "$home/lib"
  for part in "${wanted[@]}"; do
    header=${part%:*} library=${part#*:} found=''
    for place in "${folders[@]}"; do
      [[ -n $place ]] || continue
      found=$(first_of "$place/include/$header" "$place/include/x86_64-linux-gnu/$header")
      [[ -z $found ]] || break
    done
    [[ -n $found ]] || { nvidia_missing+=("$header") && continue; }
    # The whole family: cudnn.h includes cudnn_ops.h and so on. The toolkit's own folder is on the path anyway.
    [[ $found == "$CUDA_HOME"/* ]] || ln -sf "$(dirname "$found")/${library%Lt}"* "$home/include/"
    found=''
    for place in "${folders[@]}"; do
      [[ -n $place ]] || continue
      found=$(first_of "$place"/{lib64,lib,lib/x86_64-linux-gnu}/"lib$library.so"{,.[0-9]*})
      [[ -z $found ]] || break
    done
    [[ -n $found ]] || { nvidia_missing+=("lib$library.so") && continue; }
    ln -sf "$found" "$home/lib/lib$library.so"
    LD_LIBRARY_PATH=$(dirname "$found")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  done
  export LD_LIBRARY_PATH
}

# Prints what the program's own build lacks, a word each.
missing_for_program() {
  local module header
  command -v make >/dev/null || echo make
  command -v pkg-config >/dev/null || echo pkg-config
  command -v mpirun >/dev/null || echo mpirun
  for module in hdf5-openmpi fmt libxxhash zlib; do
    pkg-config --exists "$module" 2>/dev/null || echo "$module"
  done
  for header in oneapi/dnnl/dnnl.h boost/program_options.hpp catch2/catch.hpp; do
    echo "#include <$header>" | "${CXX:-g++}" -E -x c++ - >/dev/null 2>&1 || echo "$header"
  done
}
