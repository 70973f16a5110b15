// One node's hardware as sysfs shows it: plain data, so that recorded and invented nodes are treated alike.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::spank {

struct Address {
  bool ipv6 = false;
  std::string text;         // as inet_ntop writes it
  bool link_local = false;  // 169.254.0.0/16, fe80::/10
};

struct Interface {
  std::string name;
  bool up = false;        // operstate up, or unknown with a carrier
  bool loopback = false;  // flags & IFF_LOOPBACK
  int type = 1;           // ARPHRD_*: 1 Ethernet, 32 InfiniBand, 65534 none, 768 tunnel, 772 loopback
  bool bridge = false;    // has a folder `bridge`
  bool bond = false;      // has a folder `bonding`
  bool tunnel = false;    // tun, tap, or a tunnel by its type
  bool hardware = false;  // of a device: on PCI, or on a bus without ids, as Hyper-V's and virtio-mmio
  std::string kind;       // DEVTYPE of its uevent: vlan, vxlan, wireguard, wlan, ...; often empty
  std::string master;     // bond or bridge that it is a port of
  std::vector<std::string> lower;  // of one that is no hardware: what it stands on, as a VLAN on its device
  std::int64_t speed_mbps = 0;     // 0: not known, or virtual without an address
  std::string pci;                 // bus id of its device; empty for virtual ones
  std::vector<Address> addresses;
};

// Addresses that other nodes can reach.
bool has_usable_address(const Interface& interface);

struct Gid {
  int index = 0;
  std::string gid;   // as sysfs writes it: eight groups of four digits
  std::string type;  // "IB/RoCE v1" or "RoCE v2"
  std::string netdev;
};

struct HcaPort {
  int number = 1;
  bool active = false;     // state is ACTIVE
  std::string state;       // as sysfs writes it, "4: ACTIVE"
  double rate_gbps = 0;    // "400 Gb/sec (4X NDR)"
  std::string link_layer;  // InfiniBand, Ethernet, Unspecified
  std::vector<Gid> gids;   // of an active Ethernet port: those that are not all zero
};

struct Hca {
  std::string name;    // mlx5_0
  std::string pci;     // bus id
  std::string netdev;  // of its device, where there is one
  std::vector<HcaPort> ports;
};

struct PciDevice {
  std::string busid;                                               // 0000:17:00.0, lower case
  std::string device_class;                                        // 0x030200
  std::string vendor, device, subsystem_vendor, subsystem_device;  // 0x10de
  int numa = -1;
  std::string local_cpus;             // local_cpulist: "0-23,96-119"
  std::string link_speed;             // max_link_speed: "32.0 GT/s PCIe"; empty where not shown
  std::string link_width;             // max_link_width: "16"
  std::vector<std::string> upstream;  // bus ids of the bridges above it, from the root down
  bool is_gpu() const;                // NVIDIA, class 0x0302 or 0x0300
  bool is_bridge() const;             // class 0x0604
};

struct NumaNode {
  int id = 0;
  std::string cpus;     // cpulist
  std::string cpu_map;  // cpumap: "00ffffff,00ffffff"
};

struct Machine {
  std::string product;          // DMI product_name
  std::string arch = "x86_64";  // by NCCL's names: x86_64, arm64, ppc64
  std::string cpu_vendor;       // GenuineIntel
  int cpu_family = -1;
  int cpu_model = -1;
  std::vector<Interface> interfaces;  // by name, numbers in them by value: ib2 before ib10
  std::vector<Hca> hcas;              // likewise
  std::vector<PciDevice> devices;     // GPUs, network devices, and the bridges above them, by bus id
  std::vector<NumaNode> numa_nodes;
  std::string driver;               // NVIDIA driver version; empty: none
  std::uint64_t shm_bytes = 0;      // size of /dev/shm; 0: not known
  std::uint64_t memlock_bytes = 0;  // hard RLIMIT_MEMLOCK of this process; UINT64_MAX: no limit; 0: not known
  int ephemeral_first = 32768;      // ip_local_port_range
  int ephemeral_last = 60999;
  bool complete = true;  // false: the time was up before all was read; what is missing is not known
  std::vector<const PciDevice*> gpus() const;
  const PciDevice* device(const std::string& busid) const;  // null: none
};

// One thing below the root that read_machine has looked at.
struct Reading {
  enum class Kind { file, link, folder } kind = Kind::file;
  std::string path;  // relative to the root: "sys/class/net/eth0"
  std::string text;  // what the file holds, or where the link leads
};

std::chrono::nanoseconds thread_cpu_time();  // of the calling thread, user's and system's
std::chrono::nanoseconds wall_time();        // of a clock that only goes forward

// Where a node is read from. `root` is "/" or a folder with a captured tree (sys/, proc/, etc/). In a
// captured tree addresses, /dev/shm and memlock come from the text file `lockstep-node` (written by capture),
// else from getifaddrs, statvfs and getrlimit.
struct MachineSource {
  std::filesystem::path root = "/";
  // For all reading; checked before every file. CPU time of the calling thread, which is what reading sysfs
  // costs: by a clock on the wall some of many tasks that start on a busy node would run out of time and
  // decide otherwise than the rest.
  std::chrono::milliseconds limit{100};
  // Told of everything that is read, so that a capture holds neither more nor less. Null: nobody is told.
  std::function<void(const Reading&)> observe = nullptr;
  // A read that waits for a driver takes no CPU time: for all reading, by the clock on the wall.
  std::chrono::milliseconds wall_limit{2000};
  std::function<std::chrono::nanoseconds()> cpu_clock = thread_cpu_time;
  std::function<std::chrono::nanoseconds()> wall_clock = wall_time;
};

// Never throws for what it finds or does not find: a file that cannot be read is a fact that is not known.
Machine read_machine(const MachineSource& source);

}  // namespace lockstep::spank
