#!/usr/bin/env bash
# nccl-setup on captured nodes, on this machine and on files with mistakes; and what the plugin links and exports.
# shellcheck source=checks.bash
source "$(dirname "${BASH_SOURCE[0]}")/checks.bash"
nccl_setup=$build/nccl-setup
nodes=$root/test/fixtures/nodes
cd "$scratch"
# What the caller has set for NCCL or got from Slurm must not show.
while read -r name; do unset "$name"; done < <(compgen -e | grep -E '^(NCCL|SLURM|SLURMD|LOCKSTEP|GLOO|UCX|OMPI)_' || true)
export HOME=$scratch TMPDIR=$scratch/tmp
mkdir "$TMPDIR"
make_node() { "$build/test/spank/make_node" "$nodes/$1.node" "$2"; }
make_node plain-ib ib
make_node azure-ndv5 azure

check "no command is a usage error" exits 64 "$nccl_setup"
check "an unknown command names the nearest" complains 64 'did you mean explain?' "$nccl_setup" explan
check "--version tells the version" says 'nccl-setup 0.' "$nccl_setup" --version
for command in explain check capture topo; do
  check "--help lists $command" says "  $command " "$nccl_setup" --help
  check "$command --help shows its usage" says "usage: nccl-setup $command" "$nccl_setup" "$command" --help
  check "$command names the option that was meant" complains 64 'did you mean --root?' "$nccl_setup" "$command" --roto=x
  check "$command wants a value for --root" complains 64 '--root needs a value' "$nccl_setup" "$command" --root
done
for command in explain capture topo 'check some.xml'; do
  # shellcheck disable=SC2086 # a command with its argument
  check "$command: a root that is not there" complains 66 'absent does not exist' \
    "$nccl_setup" $command --root absent
done
to_full_disk() { "$@" >/dev/full; }
check "a full disk is noticed" exits 73 to_full_disk "$nccl_setup" --help

# ---- explain ----
explain() { "$nccl_setup" explain --root "$@"; }
# tells VARIABLE VALUE COMMAND...: is there a row with exactly these two, the value of any length?
tells() {
  local row=$1 value=$2 output
  shift 2
  output=$("$@") || true
  awk -v row="$row" -v value="$value" '$1 == row && $2 == value { found = 1 } END { exit !found }' <<<"$output" ||
    { printf 'no %s %s in:\n%s\n' "$row" "$value" "$output" && return 1; }
}
check "the headline counts the hardware" says '8 GPUs, 10 HCAs, 13 interfaces' explain ib
check "no problem is exit code 0" exits 0 explain ib
check "the table has the interface" tells NCCL_SOCKET_IFNAME =ib0 explain ib
check "and the HCAs" tells NCCL_IB_HCA \
  =mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1,mlx5_6:1,mlx5_7:1,mlx5_8:1,mlx5_9:1 explain ib
check "one task for each GPU unless asked" tells WORLD_SIZE 16 explain ib
check "the shape can be chosen" tells WORLD_SIZE 12 explain ib --nodes 3 --ntasks-per-node 4
check "the node's name can be chosen" tells MASTER_ADDR gpu-7 explain ib --node gpu-7
check "a shape is a number" complains 64 "--nodes many: not a whole number" explain ib --nodes many
check "a variable of the user's wins" tells NCCL_SOCKET_IFNAME =ib3 explain ib --env NCCL_SOCKET_IFNAME==ib3
check "a problem is exit code 1" exits 1 explain ib --env NCCL_SOCKET_IFNAME==absent0
check "and is told" says 'problem: ' explain ib --env NCCL_SOCKET_IFNAME==absent0
check "--env wants a pair" complains 64 'write KEY=VALUE' explain ib --env NCCL_DEBUG
check "--torch off leaves the ranks out" fails tells RANK 0 explain ib --torch off
check "--torch has its words" complains 64 'auto, on or off' explain ib --torch maybe
check "the program tells a launcher" fails tells RANK 0 explain ib --ntasks-per-node 1 -- torchrun train.py
check "LOCKSTEP_NCCL_SET is heard" tells NCCL_DEBUG INFO explain ib --env LOCKSTEP_NCCL_SET=NCCL_DEBUG=INFO
check "this shell's variables say nothing about a captured node" \
  env NCCL_SOCKET_IFNAME==ib3 bash -c "'$nccl_setup' explain --root ib | grep -q '^NCCL_SOCKET_IFNAME .*=ib0 '"

cat >site.conf <<'TEXT'
[profile hopper]
match = node:gpu-* pci:10de:2330
NCCL_IB_TIMEOUT = 22
TEXT
check "a profile sets its constants" tells NCCL_IB_TIMEOUT 22 explain ib --node gpu-1 --config site.conf
check "the headline says which profile, and why" says 'hopper (site.conf:1, matches node gpu-*, PCI device 10de:2330)' \
  explain ib --node gpu-1 --config site.conf
check "or that none matches" says 'no profile of site.conf matches' explain ib --node login --config site.conf
check "a site's file that is not there" complains 66 'absent.conf does not exist' explain ib --config absent.conf
sed 's/^match.*/mtach = node:x/' site.conf >wrong.conf
check "a wrong one: file and line" complains 78 'wrong.conf:2: ' explain ib --config wrong.conf
mkdir -p ib/etc/slurm
cp site.conf ib/etc/slurm/nccl-setup.conf
echo NCCL_IB_SL=3 >ib/etc/nccl.conf
check "a captured node brings its site's file along" says 'hopper (/etc/slurm/nccl-setup.conf:1' explain ib --node gpu-1
check "and its nccl.conf, by that name" says '/etc/nccl.conf:1' explain ib

# Inside a step it is this step that counts.
step=(env SLURM_JOB_ID=7 SLURM_STEP_ID=1 SLURM_PROCID=1 SLURM_LOCALID=1 SLURM_NODEID=0 SLURM_NTASKS=2
  SLURM_STEP_NUM_TASKS=2 SLURM_STEP_NUM_NODES=1 SLURM_NNODES=1 SLURM_STEP_NODELIST=here SLURM_STEP_TASKS_PER_NODE=2
  SLURMD_NODENAME=here SLURM_STEP_RESV_PORTS=41000-41002)
own_step() { "${step[@]}" "$@" "$nccl_setup" explain; }
check "inside a step it explains that step" says '2 tasks on 1 node, the one around this command' own_step
check "with its rank" tells RANK 1 own_step
check "and its ports" tells MASTER_PORT 41000 own_step
check "what differs from what the plugin set is told" says 'NCCL_SOCKET_IFNAME differs from what the plugin set: =eth9' \
  own_step env LOCKSTEP_NCCL_APPLIED=NCCL_SOCKET_IFNAME:00000000 NCCL_SOCKET_IFNAME==eth9
check "nothing differs where nothing was set" fails says differs own_step
check "another shape is made up also inside a step" says 'made up' \
  "${step[@]}" "$nccl_setup" explain --nodes 2

for file in "$nodes"/*.node; do
  name=$(basename "$file" .node)
  make_node "$name" "each/$name"
  code=0
  explain "each/$name" >"$name.txt" || code=$?
  check "$name is explained" test "$code" -le 1 -a "$(grep -c '^MASTER_PORT ' "$name.txt")" = 1
done

# ---- capture ----
same_from_tar() { diff <(explain "$1" --node gpu-1) <(explain "$2"); }
check "capture of a tree" "$nccl_setup" capture --root ib --node gpu-1 -o ib.tar
check "the capture gives the same table" same_from_tar ib ib.tar
check "an unpacked capture too" exits 0 env -C "$scratch" bash -c 'mkdir unpacked && tar -C unpacked -xf ib.tar'
check "with the same table" same_from_tar ib unpacked
links_stay_inside() { [[ -z $(find unpacked -type l -lname '/*') && -n $(find unpacked -type l) ]]; }
check "links stay inside of it" links_stay_inside
check "capture of this machine" "$nccl_setup" capture -o here.tar
check "gives the same table as this machine" diff <("$nccl_setup" explain) <(explain here.tar)
macs() { cat /sys/class/net/*/address | grep -v '^00:00:00:00:00:00$'; }
no_mac() { tar -xOf here.tar >here.txt && ! grep -aiFf <(macs) here.txt; }
check "it holds no MAC address" no_mac
cat >>ib/lockstep-node <<'TEXT'
address ib0 fe80::e42:a1ff:fe7a:1234
TEXT
check "nor one within a link-local address" "$nccl_setup" capture --root ib -o masked.tar
check "which is told as another one" says 'address ib0 fe80::1' tar -xOf masked.tar ./lockstep-node
check "nobody's environment" fails grep -aq "$scratch" here.txt
check "a capture that cannot be written" complains 73 'absent/x.tar' "$nccl_setup" capture --root ib -o absent/x.tar
check "a folder that is no capture" complains 65 'has no folder sys' explain "$TMPDIR"
echo text >text.tar
check "a file that is no tar" complains 65 'cannot unpack text.tar' explain text.tar
mkdir -p piped/sys && mkfifo piped/sys/pipe
tar -cf piped.tar -C piped .
check "a tar with a pipe in it is refused" complains 65 'no plain file' explain piped.tar
check "nothing stays behind in TMPDIR" test -z "$(ls -A "$TMPDIR")"
left_over() { find . -maxdepth 1 -name '*.tmp.*' | grep .; }
check "nor beside a capture" fails left_over

# ---- topo and check ----
check "topo prints a topology file" "$nccl_setup" topo --root azure -o azure.xml
check "the same each time" diff azure.xml <("$nccl_setup" topo --root azure)
check "check finds that it fits its node" exits 0 "$nccl_setup" check --root azure azure.xml
check "and does not fit another" exits 65 "$nccl_setup" check --root ib azure.xml
check "which is told by bus id" says 'does not fit node: ' "$nccl_setup" check --root ib azure.xml
check "without GPUs there is nothing to compare with" says 'not compared' "$nccl_setup" check --root each/docker-first azure.xml
check "topo of a node without GPUs and HCAs" complains 66 'neither GPUs nor HCAs' "$nccl_setup" topo --root each/docker-first
sed '1i <?xml version="1.0"?>' azure.xml >prolog.xml
check "a file that ends NCCL is told as such" says 'NCCL refuses it' "$nccl_setup" check prolog.xml
check "with exit code 65" exits 65 "$nccl_setup" check prolog.xml
: >empty.xml
check "one that NCCL ignores too" says 'NCCL passes over it' "$nccl_setup" check empty.xml

check "a good site's file, with its constants" says 'profile hopper NCCL_IB_TIMEOUT=22' "$nccl_setup" check site.conf
check "a wrong one: file and line" says 'wrong.conf:2: ' "$nccl_setup" check wrong.conf
check "with exit code 65" exits 65 "$nccl_setup" check wrong.conf
chmod g+w site.conf
check "one that others may write is a warning" says 'chmod go-w site.conf' "$nccl_setup" check site.conf
check "and no fault" exits 0 "$nccl_setup" check site.conf
check "the shipped profiles are right" "$nccl_setup" check "$root"/spank/profiles/*.conf
check "a file that is not there" exits 66 "$nccl_setup" check absent.conf

cat >nccl.conf <<'TEXT'
# fine
NCCL_DEBUG=WARN
 # indented
NCCL_IB_SL = 3
NCCL_BUFFSIZE=8MB
just words
NCCL_DEBUG=INFO
TEXT
check "a bad nccl.conf has exit code 65" exits 65 "$nccl_setup" check nccl.conf
for fault in "3: a comment begins in the first column" "4: a blank beside the name" "5: " "6: no '='" \
  "7: NCCL_DEBUG is set in line 2 already"; do
  check "nccl.conf:$fault" says "nccl.conf:$fault" "$nccl_setup" check nccl.conf
done
head -n 2 nccl.conf >good-nccl.conf
check "a good nccl.conf is fine" exits 0 "$nccl_setup" check good-nccl.conf
echo '# nothing yet' >nothing.conf
check "a site's file may be empty" says "site's file, 0 profiles, no fault" "$nccl_setup" check nothing.conf

# ---- what is linked ----
# Sanitizers bring symbols and libraries of their own.
if [[ $build != *sanitize* ]]; then
  libraries() { ldd "$1" | awk '{ sub(/.*\//, "", $1); print $1 }' | grep -vE '^(linux-vdso|ld-linux[^ ]*|libc|libm)\.so'; }
  check "nccl-setup needs nothing but libc" fails libraries "$nccl_setup"
  plugin=$build/spank_lockstep.so
  check "the plugin needs nothing but libc" fails libraries "$plugin"
  check "the plugin exports the plugin's symbols alone" diff <(nm -D --defined-only "$plugin" | awk '{ print $3 }' | sort) \
    <(printf '%s\n' plugin_name plugin_type plugin_version slurm_spank_init slurm_spank_init_post_opt \
      slurm_spank_task_init spank_plugin_version)
fi
summary
