// Network interfaces from sys/class/net.
#include <fmt/format.h>

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

// "INTERFACE=eth0.100\nDEVTYPE=vlan\n..."
std::string kind_in(const std::string& uevent) {
  constexpr std::string_view key = "DEVTYPE=";
  for (const std::string& line : split(uevent, '\n')) {
    if (line.starts_with(key)) return line.substr(key.size());
  }
  return {};
}

// The links lower_NAME in an interface's folder.
std::vector<std::string> lower_of(Tree& tree, const std::string& at) {
  std::vector<std::string> lower;
  for (const std::string& name : tree.names(at)) {
    if (!name.starts_with("lower_")) continue;
    const std::string link = fmt::format("{}/{}", at, name);
    const std::string led = tree.follow(link);
    if (led != link) lower.push_back(std::filesystem::path(led).filename().string());
  }
  return lower;
}

Interface read_interface(Tree& tree, const std::string& name) {
  Interface interface;
  interface.name = name;
  const std::string at = tree.follow("sys/class/net/" + name);
  interface.loopback = is_loopback(tree.text(at + "/flags").value_or("0"));
  interface.type = static_cast<int>(tree.number(at + "/type").value_or(1));
  const std::string state = tree.text(at + "/operstate").value_or("down");
  interface.up = state == "up" || (state == "unknown" && tree.number(at + "/carrier").value_or(0) == 1);
  interface.kind = kind_in(tree.text(at + "/uevent").value_or(""));
  if (const std::string master = tree.follow(at + "/master"); master != at + "/master") {
    interface.master = std::filesystem::path(master).filename().string();
  }
  auto above = bus_ids_in(at);
  if (above.empty()) above = bus_ids_in(tree.follow(at + "/device"));
  if (!above.empty()) {
    interface.pci = above.back();
    interface.hardware = true;
    return interface;
  }
  interface.hardware = at.starts_with("sys/devices/") && !at.starts_with("sys/devices/virtual/");
  interface.lower = lower_of(tree, at);
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

void read_speed(Tree& tree, Interface& interface) {
  const std::string at = tree.follow("sys/class/net/" + interface.name);
  interface.speed_mbps = std::max<std::int64_t>(0, tree.number(at + "/speed").value_or(0));
}

}  // namespace lockstep::spank
