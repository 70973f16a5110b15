# shellcheck shell=bash
# What the cases on GPUs share. Sourced by `test`.

# gpu_ranks N ARGS...: as `ranks`; N may be 0. Where `only_rank` and `setting` are set, that rank alone gets the
# environment variable NAME=VALUE. `command`: what they run instead of `lockstep train`.
gpu_ranks() {
  local count=$1
  shift
  # shellcheck disable=SC2016 # the ranks expand it
  local alone='[[ ${only_rank:-} != "${OMPI_COMM_WORLD_RANK:-0}" ]] || export "$setting"; exec "$0" "$@"'
  local words=(bash -c "$alone" "$lockstep" "${command:-train}" "$@")
  ((count == 0)) || words=(mpirun --oversubscribe -n "$count" "${words[@]}")
  "${words[@]}"
}

# near_columns FILE FILE COLUMN...: the columns of these names hold the same numbers in both, to rounding.
near_columns() {
  local a=$1 b=$2
  shift 2
  awk -F, -v wanted="$*" -v other="$b" -v near="${nearness:-1e-4}" '
    function differ(x, y, size) { size = x < 0 ? -x : x; return x - y > near * size + 1e-6 || y - x > near * size + 1e-6 }
    NR == 1 { n = split(wanted, name, " "); for (i = 1; i <= NF; i++) at[$i] = i }
    { if ((getline line < other) <= 0) { print "rows are missing"; exit 1 }
      split(line, cell, ",")
      for (i = 1; i <= n; i++) {
        column = at[name[i]]
        if (!column) { print "no column " name[i]; exit 1 }
        if (NR == 1 ? $column != cell[column] : differ($column, cell[column])) {
          print "row " NR ": " name[i] " is " $column " and " cell[column]
          exit 1
        }
      } }
    END { if (NR < 2) exit 1 }' "$a"
}
