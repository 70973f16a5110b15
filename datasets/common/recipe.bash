# shellcheck shell=bash
# What the recipes share; sourced, never run. A recipe sets `dataset`, its name, and defines usage().
# shellcheck disable=SC2154 # dataset
# The variable LOCKSTEP names the program; default: that of this repository or installed tree, or else one in PATH.

# die CODE TEXT...: ends the recipe with one line.
die() {
  echo "$dataset: ${*:2}" >&2
  exit "$1"
}

# begin OUT: ends the recipe where OUT is there; else sets `out`, `lockstep` and `hidden`, a folder beside OUT that is
# gone when the recipe ends.
begin() {
  out=${1%/}
  [[ -n $out ]] || die 64 "OUT is the root folder"
  if [[ -d $out/train && -d $out/test ]]; then
    echo "$dataset: $out is there already"
    exit 0
  fi
  [[ ! -e $out ]] || die 73 "$out exists but is not this dataset: choose another name or remove it"

  local datasets
  datasets=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
  lockstep=${LOCKSTEP-}
  if [[ -z $lockstep ]]; then
    lockstep=$datasets/../build/lockstep                                # of this repository
    [[ -x $lockstep ]] || lockstep=$datasets/../../../bin/lockstep      # of this installed tree
    [[ -x $lockstep ]] || lockstep=$(command -v lockstep) ||
      die 66 "there is no lockstep: run 'make', or name the program in LOCKSTEP"
  fi

  mkdir -p "$(dirname "$out")" || exit 73
  hidden=$(mktemp -d "$(dirname "$out")/.$(basename "$out").tmp.XXXXXX") || exit 73
  trap 'rm -rf "$hidden"' EXIT
  chmod 755 "$hidden" # mktemp makes it private
}

# import FORMAT OPTION...: a quiet import.
import() { "$lockstep" data import "$@" >/dev/null; }

# The named file of a Debian package; nothing where the package is not installed.
packaged_file() { dpkg -L "$1" 2>/dev/null | grep "/$2\$" || true; }

# Gives the hidden folder, which now has both splits, its name.
publish() {
  # -T: where another import was faster, fail rather than move into its folder.
  mv -T "$hidden" "$out"
  echo "$dataset: $out/train and $out/test are ready"
}
