// Host channel adapters (InfiniBand, RoCE, EFA) from sys/class/infiniband.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "machine/names.h"
#include "machine/parts.h"

namespace lockstep::spank {

namespace {

// A port has up to 256 GIDs, a file each, with a handful in use. In a container these need not come first:
// the entries of other namespaces read as empty.
constexpr int gid_limit = 64;
constexpr int empty_limit = 16;  // empty ones in a row

bool is_empty(const std::string& gid) {
  return gid.find_first_not_of("0:") == std::string::npos;
}

std::vector<Gid> read_gids(Tree& tree, const std::string& port) {
  std::vector<Gid> gids;
  int empty = 0;
  for (int index = 0; index < gid_limit && empty < empty_limit; ++index) {
    const auto text = [&](const char* kind) {
      return tree.text(fmt::format("{}/{}/{}", port, kind, index)).value_or("");
    };
    Gid gid{index, text("gids"), "", ""};
    if (is_empty(gid.gid)) {
      ++empty;
      continue;
    }
    empty = 0;
    gid.type = text("gid_attrs/types");
    gid.netdev = text("gid_attrs/ndevs");
    gids.push_back(std::move(gid));
  }
  return gids;
}

HcaPort read_port(Tree& tree, const std::string& at, int number) {
  HcaPort port;
  port.number = number;
  port.state = tree.text(at + "/state").value_or("");
  port.active = port.state.ends_with("ACTIVE");
  port.rate_gbps = std::strtod(tree.text(at + "/rate").value_or("0").c_str(), nullptr);
  port.link_layer = tree.text(at + "/link_layer").value_or("");
  if (port.active && port.link_layer == "Ethernet") port.gids = read_gids(tree, at);
  return port;
}

Hca read_hca(Tree& tree, const std::string& name) {
  Hca hca;
  hca.name = name;
  const std::string at = tree.follow("sys/class/infiniband/" + name);
  const std::string device = tree.follow(at + "/device");
  auto above = bus_ids_in(at);
  if (above.empty()) above = bus_ids_in(device);
  if (!above.empty()) hca.pci = above.back();
  if (const auto netdevs = tree.names(device + "/net"); !netdevs.empty()) hca.netdev = netdevs.front();
  for (const std::string& number : tree.names(at + "/ports")) {
    const int value = std::atoi(number.c_str());
    if (value > 0) hca.ports.push_back(read_port(tree, fmt::format("{}/ports/{}", at, number), value));
  }
  return hca;
}

}  // namespace

std::vector<Hca> read_hcas(Tree& tree) {
  std::vector<Hca> hcas;
  for (const std::string& name : tree.names("sys/class/infiniband")) hcas.push_back(read_hca(tree, name));
  return hcas;
}

}  // namespace lockstep::spank
