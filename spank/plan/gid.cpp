#include "plan/gid.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep::spank {

namespace {

constexpr std::string_view ipv4_in_ipv6 = "0000:0000:0000:0000:0000:ffff:";
constexpr const char* leave_it =
    "leave it to NCCL (2.21 or later chooses for each device): gid-index = leave";

void set_fixed(const Facts& facts, Settings& settings, const std::vector<PortRef>& ports) {
  const int index = facts.profile.gid_index;
  settings.propose_for_profile("NCCL_IB_GID_INDEX", std::to_string(index), "the profile's gid-index");
  for (const PortRef& ref : ports) {
    const auto& gids = ref.port->gids;
    // Where none was read, as on InfiniBand, nothing is known about the one.
    if (gids.empty() ||
        std::any_of(gids.begin(), gids.end(), [&](const Gid& gid) { return gid.index == index; })) {
      continue;
    }
    settings.warn(fmt::format("{} has no GID at index {}, which the profile asks for", ref.name(), index),
                  leave_it);
    return;
  }
}

void set_automatic(Settings& settings, const std::vector<PortRef>& ports) {
  std::optional<int> common;
  for (const PortRef& ref : ports) {
    const auto index = ipv4_gid_index(*ref.port);
    if (!index) {
      settings.advise(
          fmt::format("{} has no RoCE v2 GID with an IPv4 address: no GID index was set", ref.name()),
          "give its network device an IPv4 address, or set NCCL_IB_ADDR_FAMILY=AF_INET6");
      return;
    }
    if (common && *common != *index) {
      settings.advise(
          fmt::format("the RoCE v2 GID with an IPv4 address is at index {} of {} and at {} of {}: "
                      "no single NCCL_IB_GID_INDEX is right",
                      *common, ports.front().name(), *index, ref.name()),
          leave_it);
      return;
    }
    common = index;
  }
  if (!common) return;
  settings.propose_for_profile("NCCL_IB_GID_INDEX", std::to_string(*common),
                               "the first RoCE v2 GID with an IPv4 address, the same on all devices");
}

}  // namespace

std::optional<int> ipv4_gid_index(const HcaPort& port) {
  const auto found = std::find_if(port.gids.begin(), port.gids.end(), [](const Gid& gid) {
    return gid.type == "RoCE v2" && gid.gid.starts_with(ipv4_in_ipv6);
  });
  if (found == port.gids.end()) return std::nullopt;
  return found->index;
}

void set_gid_index(const Facts& facts, Settings& settings, const std::vector<PortRef>& ports) {
  std::vector<PortRef> ethernet;
  std::copy_if(ports.begin(), ports.end(), std::back_inserter(ethernet),
               [](const PortRef& ref) { return ref.port->link_layer == "Ethernet"; });
  switch (facts.profile.gid_rule) {
    case Profile::GidRule::leave:
      return;
    case Profile::GidRule::fixed:
      return set_fixed(facts, settings, ethernet);
    case Profile::GidRule::automatic:
      return set_automatic(settings, ethernet);
  }
}

}  // namespace lockstep::spank
