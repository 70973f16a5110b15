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
check "and which pattern does not" says "hopper: the node's name login is not gpu-*" \
  explain ib --node login --config site.conf
printf '[profile a]\nmatch = product:Other* product:?\n[profile b]\nmatch = node:gpu-* pci:10de:1db4\n' >others.conf
check "the product too" says "a: the product 'PowerEdge XE9680' is not Other* or ?" \
  explain ib --node gpu-1 --config others.conf
check "and PCI devices, for each profile" says 'b: no PCI device is 10de:1db4' explain ib --node gpu-1 --config others.conf
for i in 1 2 3 4 5 6 7; do printf '[profile p%d]\nmatch = node:none\n' "$i"; done >seven.conf
check "but not for hundreds of them" says 'and 2 more' explain ib --config seven.conf
check "no site's file can be asked for" says "no site's file: rules alone" explain ib --config none
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
own_step() { "${step[@]}" "$nccl_setup" explain; }
check "inside a step it explains that step" says '2 tasks on 1 node, the one around this command' own_step
check "with its rank" tells RANK 1 own_step
check "and its ports" tells MASTER_PORT 41000 own_step
check "where the plugin has set nothing, that is told" says 'the plugin has set nothing in this step' own_step
check "and no difference" fails says 'instead:' own_step
check "mode off is told, where it can be seen" says 'mode     off, by LOCKSTEP_NCCL: the plugin sets nothing' \
  "${step[@]}" LOCKSTEP_NCCL=off "$nccl_setup" explain
# A step in which all is as the table says; what is named differently is an option's, a TaskProlog's or another file's.
mapfile -t as_planned < <(own_step | awk '$1 ~ /^[A-Z][A-Za-z0-9_]+$/ && ($3 == "rule" || NF == 2) { print $1 "=" $2 }')
set_step() { "${step[@]}" "${as_planned[@]}" LOCKSTEP_NCCL_APPLIED= env "$@"; }
explained_step() { set_step "$@" "$nccl_setup" explain; }
check "the step is known by its variables" test "${#as_planned[@]}" -gt 8
check "where all is as the table says, nothing else is told" fails says 'the plugin' explained_step
check "an option of srun shows in what the plugin has set" \
  says "NCCL_DEBUG is 'INFO': the plugin set it: by an option of srun" \
  explained_step NCCL_DEBUG=INFO LOCKSTEP_NCCL_APPLIED=NCCL_DEBUG:a4dc2bf3
check "or in what it has not" says "WORLD_SIZE is not set: the plugin did not set it: by an option of srun" \
  explained_step -u WORLD_SIZE
check "what was changed afterwards is told" says "NCCL_SOCKET_IFNAME is '=eth9': changed after the plugin had set it" \
  explained_step LOCKSTEP_NCCL_APPLIED=NCCL_SOCKET_IFNAME:00000000 NCCL_SOCKET_IFNAME==eth9
check "what was taken out too" says "NCCL_SOCKET_IFNAME is not set: taken out after the plugin had set it" \
  explained_step -u NCCL_SOCKET_IFNAME LOCKSTEP_NCCL_APPLIED=NCCL_SOCKET_IFNAME:00000000
check "what differs is no problem by itself" exits 0 explained_step -u WORLD_SIZE
check "a variable for another trial is not taken for the step's" says "RANK is '1': not by the plugin" \
  set_step "$nccl_setup" explain --env RANK=7
# The digest holds a hash of the site's file.
with_digest() { set_step LOCKSTEP_NCCL_DIGEST="v1 plugin=1 config=$1 rendezvous=2 nccl=3 driver=4" "$nccl_setup" explain "${@:2}"; }
check "a site's file that was not read here is told" says "the plugin used a site's file in this step; name" with_digest 12345678
check "another one" says "the plugin used another site's file in this step; name" with_digest 12345678 --config site.conf
check "one where the plugin had none" says "the plugin used no site's file in this step; name" \
  with_digest 00000000 --config site.conf
check "the same one is not told" fails says "site's file in this step" with_digest c9c27f58 --config site.conf
check "nor none" fails says "site's file in this step" with_digest 00000000
check "another shape is made up also inside a step" says 'made up' \
  "${step[@]}" "$nccl_setup" explain --nodes 2

for file in "$nodes"/*.node; do
  name=$(basename "$file" .node)
  make_node "$name" "each/$name"
  code=0
  explain "each/$name" >"$name.txt" || code=$?
  check "$name is explained" test "$code" -le 1 -a "$(grep -c '^MASTER_PORT ' "$name.txt")" = 1
done

# Each shipped profile suits the node of its kind, whatever that node's name is.
while read -r profile name; do
  check "the shipped $profile.conf is for $name" says "profile  $profile (" \
    explain "each/$name" --config "$root/spank/profiles/$profile.conf"
done <<'TEXT'
azure-nd-v4 azure-ndv4
azure-nd-v5 azure-ndv5
efa efa
ethernet ethernet
infiniband plain-ib
oci-h100 oci-h100
roce roce
slingshot slingshot
TEXT
torch=$(sed -n 's/^srun .*--nccl-torch=\([a-z]*\).*/\1/p' "$root/sbatch/pytorch.sbatch")
check "a single task has no rank" fails tells RANK 0 explain ib --nodes 1 --ntasks-per-node 1
check "but in the batch script for PyTorch" tells RANK 0 explain ib --nodes 1 --ntasks-per-node 1 --torch "$torch"

# Foreign text cannot steer a terminal.
printf '\302\23331m_A\033[2J = x\342\200\256\n' >escape.nccl.conf
check "a name in a file is printed without escapes" says "sets '??31m_A?[2J '" "$nccl_setup" check escape.nccl.conf
check "a value in the environment too" tells NCCL_SOCKET_IFNAME '=ib0?[2J??' \
  explain ib --env $'NCCL_SOCKET_IFNAME==ib0\033[2J\302\233'
check "an error too" complains 64 '--nodes ?[2J' explain ib --nodes $'\033[2J'

# ---- capture ----
same_from_tar() { diff <(explain "$1" --node gpu-1) <(explain "$2"); }
check "capture of a tree" "$nccl_setup" capture --root ib --node gpu-1 -o ib.tar
check "the capture gives the same table" same_from_tar ib ib.tar
check "an unpacked capture too" exits 0 env -C "$scratch" bash -c 'mkdir unpacked && tar -C unpacked -xf ib.tar'
check "with the same table" same_from_tar ib unpacked
check "capture of a node with bridges" "$nccl_setup" capture --root each/host-bridge -o bridge.tar
check "it has what they stand on" tells NCCL_SOCKET_IFNAME =br-mgmt explain bridge.tar
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
check "a capture for which there is no folder" \
  complains 73 'cannot write absent/x.tar: there is no folder absent; name another file with -o' \
  "$nccl_setup" capture --root ib -o absent/x.tar
check "or whose name is a folder's" complains 73 'cannot write ib: it is a folder' "$nccl_setup" capture --root ib -o ib
check "a folder that is no capture" complains 65 'has no folder sys' explain "$TMPDIR"
echo text >text.tar
check "a file that is no tar" complains 65 'cannot unpack text.tar: it is no whole tar file' explain text.tar
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

# ---- whether the plugin may read a site's file ----
# As it must lie: root's, in folders that everybody may enter. As another user, owner and folders are at fault too.
chmod 755 "$scratch"
refused() { # refused MODE REMEDY: told by check and by explain, and no fault of a draft
  chmod "$1" site.conf
  exits 65 "$nccl_setup" check site.conf && says "$2 site.conf" "$nccl_setup" check site.conf &&
    exits 1 explain ib --config site.conf && says "$2 site.conf" explain ib --config site.conf &&
    exits 0 "$nccl_setup" check --draft site.conf
}
if ((EUID == 0)); then
  chmod 644 site.conf
  check "a site's file in its place is fine" exits 0 "$nccl_setup" check site.conf
  check "for explain too" exits 0 explain ib --config site.conf
  chown 12345 site.conf
  check "one that is not root's is a fault" refused 644 'chown root'
  chown 0 site.conf
  mkdir -m 700 closed
  cp site.conf closed/site.conf
  check "one in a folder that users may not enter is a fault" exits 65 "$nccl_setup" check closed/site.conf
  check "with the folder named" says 'chmod a+x ' "$nccl_setup" check closed/site.conf
fi
check "one that users cannot read is a fault" refused 600 'chmod a+r'
check "even if a group can" refused 640 'chmod a+r'
check "one that others may write is a fault" refused 666 'chmod go-w'
check "even if only a group may" refused 664 'chmod go-w'
chmod 644 site.conf
check "the shipped profiles are right" "$nccl_setup" check --draft "$root"/spank/profiles/*.conf
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
check "a site's file may be empty" says "site's file, 0 profiles, no fault" "$nccl_setup" check --draft nothing.conf

# ---- which kind of file it is ----
is_site() { says "$1: site's file" "$nccl_setup" check "$1" && exits 65 "$nccl_setup" check "$1"; }
printf '\xef\xbb\xbf[profile a]\nNCCL_IB_TIMEOUT = 22\n' >marked.conf
check "a byte order mark does not hide a site's file" is_site marked.conf
check "and is told" says 'marked.conf:1: the file begins with the byte order mark' "$nccl_setup" check marked.conf
{ echo garbage && cat site.conf; } >garbage.conf
check "nor does a wrong first line" is_site garbage.conf
mkdir named
echo 'NCCL_DEBUG=INFO' >named/nccl-setup.conf
check "the name nccl-setup.conf is one" is_site named/nccl-setup.conf
echo 'match = node:x' >headless.conf
check "as is a key that NCCL does not know" is_site headless.conf
check "--as says what it is" says 'good-nccl.conf: nccl.conf, 1 setting' "$nccl_setup" check --as=nccl-conf good-nccl.conf
check "also against its looks" says 'good-nccl.conf:2: ' "$nccl_setup" check --as site good-nccl.conf
check "for topology files too" says 'NCCL refuses it' "$nccl_setup" check --as topology site.conf
check "--as has its words" complains 64 'write site, nccl-conf or topology' "$nccl_setup" check --as ini site.conf

# Every wrong line, and nothing that only follows from another.
cat >many.conf <<'TEXT'
garbage
[profile a]
mtach = node:x
mode = lous
NCCL_BUFFSIZE = 8MB
[profil b]
match = node:y
[profile c]
mode = also
TEXT
mistaken_lines() { "$nccl_setup" check --draft "$1" | sed -n 's/^  [^:]*:\([0-9]*\): .*/\1/p' | xargs; }
check "all wrong lines of a site's file are told" test "$(mistaken_lines many.conf)" = "1 3 4 5 6 9"
printf '[profile a]\nmode = auto\n[profile b]\nmode = x\n' >unreachable.conf
check "what follows from a wrong order is not" test "$(mistaken_lines unreachable.conf)" = 3
{ echo '[profile a]' && for i in {1..50}; do echo "bad$i = 1"; done; } >hopeless.conf
check "and no more than can be read" test "$(mistaken_lines hopeless.conf | wc -w)" = 20

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
