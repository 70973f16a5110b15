# shellcheck shell=bash
# Gives each machine of an instance namespaces of its own, and links them. Sourced by `up`.
#
# The machine `switch` holds a bridge for each network; the machines n1 to nN and `login` hang on it by veth pairs. All
# is made inside the namespaces, so nothing is ever seen on the host, and all of it is gone with their last process.
#
# The variables used here are set by `up` and lib.sh:
# shellcheck disable=SC2154

network=10.77.0
login_address=$network.254
link_pattern='^([a-z][A-Za-z0-9._-]{0,14})(:(veth|bridge|vxlan))?(=([0-9a-f.:%n]+/[0-9]{1,3}))?(,down)?$'

# Sets: link_name, link_kind, link_address (may be empty, may hold %n), link_down (empty: up).
parse_link() {
  [[ $1 =~ $link_pattern ]] || return 1
  link_name=${BASH_REMATCH[1]} link_kind=${BASH_REMATCH[3]:-veth} link_address=${BASH_REMATCH[5]}
  link_down=${BASH_REMATCH[6]}
}

check_network_options() {
  local link number names=" lo $interface "
  [[ $interface =~ ^[a-z][A-Za-z0-9._-]{0,14}$ ]] ||
    die "--interface=$interface: want a name of at most 15 letters, digits and . _ -"
  [[ -z $rate || $rate =~ ^[1-9][0-9]{0,5}[kmg]bit$ ]] || die "--rate=$rate: want a number and kbit, mbit or gbit"
  for ((number = 1; number <= ${#extra_interfaces[@]}; ++number)); do names+="veth-$number "; done # see add_link
  for link in "${extra_interfaces[@]}"; do
    parse_link "$link" || die "--extra-interface=$link: want NAME[:KIND][=ADDRESS/LENGTH][,down]; see: $0 --help"
    [[ $names != *" $link_name "* ]] || die "--extra-interface=$link: there is already an interface $link_name"
    names+="$link_name "
  done
}

# Tries in namespaces that vanish at once whether this machine can do what was asked for.
need_namespaces() {
  local problem shape=:
  need_programs unshare nsenter ip mount
  [[ -z $rate ]] || need_programs tc
  [[ -z $rate ]] || shape="tc qdisc add dev veth0 $(shaping)"
  problem=$(unshare --net --uts --mount sh -ec "mount -t sysfs sysfs /sys
    ip link add name veth0 type veth peer name veth1
    ip link add name bridge0 type bridge
    $shape" 2>&1) ||
    die "--namespaces${rate:+ --rate=$rate}: this machine does not let me: $(tail -n 1 <<<"$problem")"
}

# Prints a token bucket's settings for tc: the bucket holds what the link passes in 2 ms, at least some packets.
shaping() {
  local bits=${rate%?bit} burst
  case $rate in
    *kbit) bits=$((bits * 1000)) ;;
    *mbit) bits=$((bits * 1000000)) ;;
    *gbit) bits=$((bits * 1000000000)) ;;
  esac
  burst=$((bits / 8 / 500))
  printf 'root tbf rate %s burst %d latency 50ms\n' "$rate" "$((burst > 16384 ? burst : 16384))"
}

# Prints the file /etc/hosts of all machines. A node is also known as NAME-INTERFACE by its further addresses.
write_hosts() {
  local node link
  printf '127.0.0.1 localhost\n::1 localhost ip6-localhost\n%s login\n' "$login_address"
  for ((node = 1; node <= nodes; ++node)); do
    printf '%s n%d\n' "$network.$node" "$node"
    for link in "${extra_interfaces[@]}"; do
      parse_link "$link"
      [[ $link_address != *%n* ]] || printf '%s n%d-%s\n' "$(address_of "$node" | cut -d/ -f1)" "$node" "$link_name"
    done
  done
}

# Prints the link's address on node $1.
address_of() { printf '%s\n' "${link_address//%n/$1}"; }

# The holder is at its sleep when `unshare` has made the namespaces and cut their mounts off from the host's.
holder_sleeps() {
  local pid comm
  pid=$(namespace_pid "$dir" "$1") && comm=$(cat "/proc/$pid/comm" 2>/dev/null) && [[ $comm == sleep ]]
}

# Runs a piece of sh as root on machine $1; further arguments are its $1, $2, ...
on_machine() {
  local machine=$1 script=$2
  shift 2
  find_entry "$dir" "$machine"
  "${entry[@]}" sh -euc "$script" sh "$@" || die "cannot set up the namespaces of $machine"
}

# sysfs shows the interfaces of the network in which it was mounted.
furnish() {
  # shellcheck disable=SC2016 # for the inner shell
  on_machine "$1" 'echo "$1" >/proc/sys/kernel/hostname
    mount --bind "$2" /etc/hosts
    mount -t sysfs -o nosuid,nodev,noexec sysfs /sys
    mount -t tmpfs -o nosuid,nodev,mode=1777 tmpfs /dev/shm
    ip link set lo up' "$1" "$dir/etc/hosts"
}

# plug MACHINE INTERFACE PORT BRIDGE: a veth pair from a machine to a bridge of the switch; an empty BRIDGE leaves
# the end there unconnected, yet up.
plug() {
  local pid
  pid=$(namespace_pid "$dir" "$1")
  # shellcheck disable=SC2016 # for the inner shell
  on_machine switch 'ip link add name "$1" type veth peer name "$2" netns "$3"
    [ -z "$4" ] || ip link set "$1" master "$4"
    ip link set "$1" up
    [ -z "$5" ] || tc qdisc add dev "$1" $5' "$3" "$2" "$pid" "$4" "${rate:+$(shaping)}"
  # shellcheck disable=SC2016 # for the inner shell
  [[ -z $rate ]] || on_machine "$1" 'tc qdisc add dev "$1" $2' "$2" "$(shaping)"
}

# configure MACHINE INTERFACE ADDRESS DOWN. A down interface is given its address too, as one is whose cable is out.
configure() {
  # shellcheck disable=SC2016 # for the inner shell
  on_machine "$1" '[ -z "$2" ] || ip address add "$2" dev "$1"
    [ -n "$3" ] || ip link set "$1" up' "$2" "$3" "$4"
}

add_bridge() {
  # shellcheck disable=SC2016 # for the inner shell
  on_machine switch 'ip link add name "$1" type bridge && ip link set "$1" up' "$1"
}

# Adds further link number $2 to node $1.
add_link() {
  local node=$1 number=$2 port=veth-$2
  case $link_kind in
    veth) plug "n$node" "$link_name" "n$node.$number" "bridge$number" ;;
    bridge)
      # With a container on it: a bridge without ports has no carrier, and nobody would take it by mistake.
      plug "n$node" "$port" "n$node.$number" ''
      # shellcheck disable=SC2016 # for the inner shell
      on_machine "n$node" 'ip link add name "$1" type bridge
        ip link set "$2" master "$1" up' "$link_name" "$port"
      ;;
    vxlan)
      # shellcheck disable=SC2016 # for the inner shell
      on_machine "n$node" 'ip link add name "$1" type vxlan id "$2" dstport 4789 dev "$3"' \
        "$link_name" "$number" "$interface"
      ;;
  esac
  configure "n$node" "$link_name" "$(address_of "$node")" "$link_down"
}

start_namespaces() {
  local machine node number machines=(switch login)
  for ((node = 1; node <= nodes; ++node)); do machines+=("n$node"); done
  for machine in "${machines[@]}"; do
    start_daemon "$dir" "ns-$machine" unshare --net --uts --mount --propagation private -- sleep infinity
  done
  for machine in "${machines[@]}"; do
    poll_for 20 holder_sleeps "$machine" || die "the namespaces of $machine are not there after 20 s"
    furnish "$machine"
  done
  add_bridge bridge0
  plug login eth0 login.0 bridge0
  configure login eth0 "$login_address/24" ''
  for ((node = 1; node <= nodes; ++node)); do
    plug "n$node" "$interface" "n$node.0" bridge0
    configure "n$node" "$interface" "$network.$node/24" ''
  done
  for ((number = 1; number <= ${#extra_interfaces[@]}; ++number)); do
    parse_link "${extra_interfaces[number - 1]}"
    [[ $link_kind != veth ]] || add_bridge "bridge$number"
    for ((node = 1; node <= nodes; ++node)); do add_link "$node" "$number"; done
  done
}
