// Network interfaces from sys/class/net.
#include <algorithm>
#include <array>
#include <filesystem>

#include "core/text.h"
#include "machine/names.h"
#include "machine/parts.h"

namespace lockstep::spank {

namespace {

// ARPHRD_* of linux/if_arp.h: PPP, IPv4 and IPv6 in IP, SIT, GRE, GRE over IPv6.
constexpr std::array<int, 6> tunnel_types = {512, 768, 769, 776, 778, 823};

// IFF_LOOPBACK of net/if.h, written in hexadecimal in `flags`.
bool is_loopback(const std::string& flags) {
  constexpr unsigned long loopback = 0x8;
  return (std::strtoul(flags.c_str(), nullptr, 16) & loopback) != 0;
}

Interface read_interface(Tree& tree, const std::string& name) {
  Interface interface;
  interface.name = name;
  const std::string at = tree.follow("sys/class/net/" + name);
  interface.loopback = is_loopback(tree.text(at + "/flags").value_or("0"));
  interface.type = static_cast<int>(tree.number(at + "/type").value_or(1));
  const std::string state = tree.text(at + "/operstate").value_or("down");
  interface.up = state == "up" || (state == "unknown" && tree.number(at + "/carrier").value_or(0) == 1);
  // The driver is asked for the speed: only where it matters.
  if (interface.up && !interface.loopback) {
    interface.speed_mbps = std::max<std::int64_t>(0, tree.number(at + "/speed").value_or(0));
  }
  interface.mtu = static_cast<int>(tree.number(at + "/mtu").value_or(0));
  if (const std::string master = tree.follow(at + "/master"); master != at + "/master") {
    interface.master = std::filesystem::path(master).filename().string();
  }
  auto above = bus_ids_in(at);
  if (above.empty()) above = bus_ids_in(tree.follow(at + "/device"));
  if (!above.empty()) {
    interface.pci = above.back();
    return interface;
  }
  interface.bridge = tree.has_folder(at + "/bridge");
  interface.bond = !interface.bridge && tree.has_folder(at + "/bonding");
  interface.tunnel =
      std::find(tunnel_types.begin(), tunnel_types.end(), interface.type) != tunnel_types.end() ||
      tree.text(at + "/tun_flags").has_value();
  return interface;
}

}  // namespace

std::vector<Interface> read_interfaces(Tree& tree) {
  std::vector<Interface> interfaces;
  for (const std::string& name : tree.names("sys/class/net")) {
    // `bonding_masters` is a file among the folders.
    if (name != "bonding_masters") interfaces.push_back(read_interface(tree, name));
  }
  return interfaces;
}

}  // namespace lockstep::spank
