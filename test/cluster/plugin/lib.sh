# shellcheck shell=bash
# What the tests of the plugin on a cluster share. Sourced by `test`, which sets cluster, build and plugin_here.
# shellcheck disable=SC2034,SC2154

# Ends the case: cases run in a shell of their own.
fail() {
  printf '%s\n' "$*"
  printf '%s\n' "--- standard output:" "${out:-}" | head -n 40
  printf '%s\n' "--- standard error:" "${err:-}" | head -n 40
  exit 1
}

# Runs "$@" as the job user, for at most 30 s: what hangs ends with 124. Sets out, err and code.
run_as_user() {
  local errors=$logs/errors.$BASHPID
  code=0
  out=$("$plugin_here/../run" "$cluster" timeout --kill-after=5 30 "$@" 2>"$errors") || code=$?
  err=$(cat "$errors")
  rm -f "$errors"
}

# The same for a step, with the options and variables in $1... as for srun and env.
step() { run_as_user srun "$@"; }

ok_step() {
  step "$@"
  [[ $code -eq 0 ]] || fail "srun $*: exit code $code"
}

# Writes plugstack.conf anew: nothing, or the plugin with these arguments, as the manual says or as required: then
# Slurm itself would let a failure count.
without_plugin() { : >"$cluster/etc/plugstack.conf"; }
with_plugin() { printf 'optional %s %s\n' "$cluster/etc/spank_lockstep.so" "$*" >"$cluster/etc/plugstack.conf"; }
with_required_plugin() { printf 'required %s %s\n' "$cluster/etc/spank_lockstep.so" "$*" >"$cluster/etc/plugstack.conf"; }
with_faulty_plugin() { # always required
  printf 'required %s %s\n' "$cluster/etc/spank_lockstep_fault.so" "$*" >"$cluster/etc/plugstack.conf"
}

# A file of the site, readable by all, writable by root: FILE below etc/, its text on standard input.
site_file() {
  mkdir -p "$(dirname "$cluster/etc/$1")"
  cat >"$cluster/etc/$1"
}

# An executable of the job user: NAME in work/, its text on standard input.
user_script() {
  cat >"$cluster/work/$1"
  chmod 755 "$cluster/work/$1"
}

is() { [[ $1 == "$2" ]] || fail "$3: want '$2', have '$1'"; }
is_not() { [[ $1 != "$2" ]] || fail "$3: have '$1', which it must not be"; }
has() { [[ $1 == *"$2"* ]] || fail "want '$2' in: $1"; }
has_not() { [[ $1 != *"$2"* ]] || fail "there must be no '$2' in: $1"; }
has_lines() { # has_lines TEXT NUMBER PATTERN
  local number
  number=$(grep -c -e "$3" <<<"$1") || true
  is "$number" "$2" "lines with '$3'"
}

# The value of a variable in the output of `env`.
value_in() { sed -n "s/^$2=//p" <<<"$1"; }

# The K-th column of the output, each value once.
column() { awk -v k="$1" '{ print $k }' <<<"$out" | sort -u | xargs; }

# A job that ends by itself. Its output is work/NAME.out. Sets job.
submit() { # submit NAME [OPTION...]
  local name=$1
  shift
  rm -f "$cluster/work/$name.out"
  run_as_user sbatch --parsable --output="$name.out" "$@" "./$name"
  [[ $code -eq 0 ]] || fail "sbatch $*: exit code $code"
  job=$out
}

# True once the job script has written its last word.
has_finished() { grep -qsx finished "$cluster/work/$1.out"; }
await_job() { # await_job NAME: sets out
  poll_for 30 has_finished "$1" || fail "the job $1 has not finished: $(cat "$cluster/work/$1.out" 2>&1)"
  out=$(cat "$cluster/work/$1.out")
}

# Nodes that Slurm has taken out of service.
lost_nodes() {
  # shellcheck disable=SC1091
  (source "$cluster/env" && sinfo --noheader --Node --partition=low --format='%N=%t') | grep -E 'drain|drng|down|fail' || true
}
