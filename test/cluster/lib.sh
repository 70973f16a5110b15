# shellcheck shell=bash
# What the scripts of this folder share. Sourced, never run.
#
# An instance is a folder. Everything that belongs to it lies inside, save two things that are shared by all
# instances of a machine: the claim on a block of ports (a symbolic link in $claims_dir that points to the
# folder) and the ordinary user that jobs run as.

claims_dir=/var/tmp/lockstep-cluster
default_user=lockstep
port_block=128
first_port=20000
last_port=32640

# PATH of an ordinary user often lacks sbin, where Debian puts the daemons.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

say() { printf '%s\n' "$*" >&2; }
die() {
  say "$(basename "$0"): $*"
  exit 1
}

need_root() { [[ $EUID -eq 0 ]] || die "must run as root: slurmd starts jobs for another user"; }

need_programs() {
  local program missing=()
  for program in "$@"; do
    command -v "$program" >/dev/null || missing+=("$program")
  done
  [[ ${#missing[@]} -eq 0 ]] ||
    die "not found: ${missing[*]}; try: apt-get install slurmctld slurmd slurm-client munge util-linux iproute2"
}

# Runs "$@" while holding the lock of this machine. A folder that always exists is locked, so that no lock
# file has to be left behind or removed under a waiting process.
with_machine_lock() {
  local lock result=0
  exec {lock}</var/tmp
  flock --wait 60 "$lock" || die "waited 60 s for the lock on /var/tmp; see who holds it: fuser -v /var/tmp"
  "$@" || result=$?
  exec {lock}<&-
  return "$result"
}

# Calls "$@" until it succeeds, at most $1 seconds.
poll_for() {
  local deadline=$((SECONDS + $1))
  shift
  until "$@"; do
    ((SECONDS < deadline)) || return 1
    sleep 0.1
  done
}

# Reads the values that `up` wrote when it made the folder. Sets: instance_cluster, instance_user.
# An absent or half-written file leaves the defaults, with which `down` still finds the processes by folder.
load_instance() {
  local dir=$1 key value
  instance_cluster=
  instance_user=$default_user
  [[ -r $dir/instance ]] || return 1
  while IFS='=' read -r key value; do
    case $key in
      cluster) instance_cluster=$value ;;
      user) instance_user=$value ;;
    esac
  done <"$dir/instance"
}

# The start time (in clock ticks since boot) tells a process from a later one with the same pid.
process_start() {
  local stat
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  stat=${stat##*) }
  local -a field
  read -ra field <<<"$stat"
  [[ ${field[0]} != [ZX] ]] || return 1
  printf '%s\n' "${field[19]}"
}

# Becomes "$@" in a session of its own, without the caller's open files: a lock or a pipe of the caller that
# a daemon inherits would stay held for as long as the cluster runs.
become_daemon() {
  local file fd
  for file in "/proc/$BASHPID/fd/"*; do
    fd=${file##*/}
    ((fd <= 2)) || exec {fd}>&-
  done
  exec setsid "$@"
}

# Starts the daemon "$@" and notes it in the folder as role $2.
start_daemon() {
  local dir=$1 role=$2
  shift 2
  become_daemon "$@" </dev/null >>"$dir/log/$role.out" 2>&1 &
  printf '%s %s %s\n' "$role" "$!" "$(process_start "$!" || echo gone)" >>"$dir/pids"
  disown # bash need not tell of its end
}

# Prints "role pid" of each noted daemon that still runs.
running_daemons() {
  local dir=$1 role pid start
  [[ -r $dir/pids ]] || return 0
  while read -r role pid start; do
    [[ -n $start && $(process_start "$pid") == "$start" ]] && printf '%s %s\n' "$role" "$pid"
  done <"$dir/pids"
  return 0
}

# With --namespaces each machine of an instance (n1 to nN, login, switch) has network, host name and mounts of its
# own. A process that only sleeps holds them open; it is noted as a daemon named ns-MACHINE, so that `down` ends it.

# Prints the pid of the process that holds the namespaces of machine $2.
namespace_pid() {
  local role pid
  while read -r role pid; do
    [[ $role != "ns-$2" ]] || { printf '%s\n' "$pid" && return 0; }
  done < <(running_daemons "$1")
  return 1
}

# True for an instance that was started with --namespaces.
has_namespaces() { grep -qs '^ns-login ' "$1/pids"; }

# Sets the array `entry`: the words before a command that let it run on machine $2 of the instance, in the folder in
# which we are here. None where the instance has no namespaces: all its machines are this one.
find_entry() {
  local pid
  entry=()
  has_namespaces "$1" || return 0
  pid=$(namespace_pid "$1" "$2") || die "$1 has no machine '$2', or its namespaces have ended"
  # shellcheck disable=SC2034 # for the caller
  entry=(nsenter --target "$pid" --net --uts --mount "--wdns=$PWD" --)
}

# A daemon of Slurm or munge, or the holder of a namespace, belongs to the instance when it holds one of its log
# files open. Step daemons are found in this way only: nobody notes their pids, their parent may be gone, and they
# overwrite their own environment with their title.
holds_log_of() {
  local dir=$1 pid=$2 file target
  case $(readlink "/proc/$pid/exe") in
    */munged | */slurmctld* | */slurmd* | */slurmstepd* | */unshare | */sleep) ;;
    *) return 1 ;;
  esac
  for file in "/proc/$pid/fd/"*; do
    target=$(readlink "$file") || continue
    [[ $target == "$dir/log/"* ]] && return 0
  done
  return 1
}

# Sets the array `switch`: the words before a command that let it run as the user $1.
find_switch() { switch=(setpriv --reuid="$1" --regid="$(id -g "$1")" --init-groups --); }

# Becomes a command, run as the user $1.
become_user() {
  find_switch "$1"
  shift
  exec "${switch[@]}" "$@"
}

as_user() { (become_user "$@"); }

# Prints the pids of the job user's processes whose environment names the instance's configuration or cluster;
# the cluster's name is unique on the machine. Looks as that user: a container's root may not look into the
# environment of others, and the user can see no processes but its own. Starts with no environment, so that
# the search does not find itself.
job_pids() {
  local dir=$1
  id -u "$instance_user" >/dev/null 2>&1 || return 0
  as_user "$instance_user" env -i "PATH=$PATH" grep -lszFx -e "SLURM_CONF=$dir/etc/slurm.conf" \
    ${instance_cluster:+-e "SLURM_CLUSTER_NAME=$instance_cluster"} /proc/[0-9]*/environ | cut -d/ -f3 || true
}

# Prints every pid of the instance: noted daemons, unnoted ones, job processes, and what descends from them.
instance_pids() {
  local dir=$1 pid stat parent grown
  local -A mine=() parent_of=()
  for pid in $(running_daemons "$dir" | cut -d' ' -f2) $(job_pids "$dir"); do
    process_start "$pid" >/dev/null && mine[$pid]=1
  done
  for stat in /proc/[0-9]*/stat; do
    pid=${stat#/proc/}
    pid=${pid%/stat}
    stat=$(cat "$stat") || continue
    stat=${stat##*) }
    [[ $stat != [ZX]* ]] || continue
    read -r _ parent _ <<<"$stat"
    parent_of[$pid]=$parent
    holds_log_of "$dir" "$pid" && mine[$pid]=1
  done 2>/dev/null
  grown=1
  while ((grown)); do
    grown=0
    for pid in "${!parent_of[@]}"; do
      if [[ -z ${mine[$pid]:-} && -n ${mine[${parent_of[$pid]}]:-} ]]; then
        mine[$pid]=1
        grown=1
      fi
    done
  done
  # A job of the instance may itself have called `down`: it must not end itself half-way.
  unset "mine[$$]" "mine[$BASHPID]"
  [[ ${#mine[@]} -eq 0 ]] || printf '%s\n' "${!mine[@]}"
}

# True when the `up` that made the folder is still at work in it.
up_is_running() {
  local dir=$1 pid start
  [[ -r $dir/up.pid ]] && read -r pid start <"$dir/up.pid" && [[ $(process_start "$pid") == "$start" ]]
}

port_in_use() {
  local first=$1 last=$2 address port
  while read -r _ address _; do
    port=$((16#${address##*:}))
    ((port >= first && port <= last)) && return 0
  done < <(cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | grep -v local_address)
  return 1
}

# Claims the first free block of ports for the folder and prints its first port. Call with the machine lock.
claim_ports() {
  local dir=$1 base owner
  mkdir -p "$claims_dir"
  for ((base = first_port; base + port_block <= last_port; base += port_block)); do
    if owner=$(readlink "$claims_dir/$base"); then
      # A crashed instance keeps its ports only as long as something of it runs.
      if up_is_running "$owner" || [[ -n $(running_daemons "$owner") ]]; then continue; fi
      rm -f "$claims_dir/$base"
    fi
    port_in_use "$base" $((base + port_block - 1)) && continue
    ln -s "$dir" "$claims_dir/$base"
    printf '%s\n' "$base"
    return 0
  done
  die "no block of $port_block free ports between $first_port and $last_port; see: $(dirname "$0")/status"
}

# Gives the folder's ports back. Call with the machine lock.
release_ports() {
  local dir=$1 claim
  for claim in "$claims_dir"/*; do
    [[ $(readlink "$claim") == "$dir" ]] && rm -f "$claim"
  done
  rmdir "$claims_dir" 2>/dev/null || true
}
