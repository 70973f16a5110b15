// Invented nodes: a short description becomes a tree of files with the shape of Linux's sysfs and procfs.
//
// One thing a line; `#` begins a comment; values with blanks are quoted; lists have commas:
//   node = n1                product = "Virtual Machine"    driver = 550.54.15
//   shm = 64G                memlock = unlimited            ports = 32768-60999
//   cpu vendor=GenuineIntel family=6 model=143
//   numa 0 cpus=0-47
//   gpu 0000:19:00.0 numa=0 under=0000:15:01.0,0000:17:00.0 device=2330 cpus=0-47 speed="32.0 GT/s PCIe"
//       width=16
//   nic eno1 pci=0000:06:00.0 numa=0 speed=25000 address=10.0.0.4,fe80::1
//       also: state=up|down|unknown type=32 master=bond0 vendor= device=; kind=wlan; without pci= it is on
//       another bus
//   virtual docker0 kind=bridge|bond|tun|dummy|loopback|vlan|vxlan|geneve|wireguard|macvlan, and what a nic
//       has; lower=eth0: what it stands on, which comes before it
//   hca mlx5_0 pci=0000:18:00.0 numa=0 under=... rate=400 layer=InfiniBand state=ACTIVE netdev=ib0 port=1
//       gid=3=0000:0000:0000:0000:0000:ffff:0a00:0004 (RoCE v2) or gid=0=v1=fe80:... (v1), several with
//       commas
//   pci 0000:02:00.0 class=0x010802 ..., for what is none of these
// `netdev=` names a nic with the same pci=. A bridge above a device comes into being by `under=`.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "machine/machine.h"

// Writes the tree into the folder `root`. Throws std::runtime_error naming the line that cannot be read.
void write_fake_node(std::string_view description, const std::filesystem::path& root);

// What read_machine finds in such a tree.
lockstep::spank::Machine fake_machine(std::string_view description);

// The same for test/fixtures/nodes/NAME.node.
lockstep::spank::Machine fixture_machine(const std::string& name);
