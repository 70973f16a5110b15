// Which way MPI's messages go: shared memory on one node, otherwise TCP over which interfaces.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <system_error>

#include "doctor/machine.h"
#include "doctor/network.h"
#include "doctor/probes.h"

namespace lockstep::doctor {

namespace {

void look(Context&, Facts& mine) {
  mine["network"] = network_id();
  mine["interfaces"] = to_text(interfaces());
  const TcpFilter filter = tcp_filter();
  mine["tcp_if_include"] = filter.include;
  mine["tcp_if_exclude"] = filter.exclude;
  for (const char* name : {"pml", "btl"}) {
    if (const char* value = std::getenv(fmt::format("OMPI_MCA_{}", name).c_str())) mine[name] = value;
  }
  std::error_code ignored;
  std::vector<std::string> devices;
  for (const auto& device : std::filesystem::directory_iterator("/sys/class/infiniband", ignored)) {
    devices.push_back(device.path().filename().string());
  }
  std::sort(devices.begin(), devices.end());
  if (!devices.empty()) mine["infiniband"] = fmt::format("{}", fmt::join(devices, " "));
}

TcpFilter filter_of(const RankFacts& rank) {
  return {text_of(rank.facts, "tcp_if_include"), text_of(rank.facts, "tcp_if_exclude")};
}

// The first rank of each network.
std::vector<const RankFacts*> one_per_network(const std::vector<RankFacts>& ranks) {
  std::vector<const RankFacts*> chosen;
  std::set<std::string> seen;
  for (const RankFacts& rank : ranks) {
    if (seen.insert(text_of(rank.facts, "network")).second) chosen.push_back(&rank);
  }
  return chosen;
}

void report_trap(const RankFacts& a, const Interface& mine, const RankFacts& b, const std::string& good,
                 Section& section) {
  section.warnings.push_back(fmt::format(
      "{} has the same address {} on {} and {}: MPI may wait for ever on it; set "
      "OMPI_MCA_btl_tcp_if_include={}",
      mine.name, mine.address, a.node, b.node, good.empty() ? "the interface that joins your nodes" : good));
}

void report(const Findings&, Section& section) {
  const Facts& first = section.ranks.front().facts;
  for (const char* name : {"pml", "btl"}) {
    if (const std::string value = text_of(first, name); !value.empty()) {
      section.rows.push_back({fmt::format("OMPI_MCA_{}", name), value});
    }
  }
  if (const std::string devices = text_of(first, "infiniband"); !devices.empty()) {
    section.rows.push_back(
        {"InfiniBand", devices + "; MPI uses them where it was built with UCX or libfabric"});
  }
  const auto nodes = one_per_network(section.ranks);
  if (nodes.size() < 2) {
    section.rows.push_back(
        {"messages", section.ranks.size() == 1 ? "none: one rank" : "one node: shared memory"});
    return;
  }
  const RankFacts& own = *nodes[0];
  const RankFacts& peer = *nodes[1];
  std::vector<std::string> ways, good;
  std::vector<const Interface*> traps;
  const auto mine = interfaces_from_text(text_of(own.facts, "interfaces"));
  const auto theirs = interfaces_from_text(text_of(peer.facts, "interfaces"));
  for (const Interface& interface : mine) {
    if (!allows(filter_of(own), interface)) continue;
    const auto met = std::find_if(theirs.begin(), theirs.end(), [&](const Interface& other) {
      return allows(filter_of(peer), other) && same_subnet(interface, other);
    });
    if (met == theirs.end()) continue;
    if (met->address == interface.address) {
      traps.push_back(&interface);
      continue;
    }
    good.push_back(interface.name);
    ways.push_back(fmt::format(
        "{} ({}/{}, {}, MTU {})", interface.name, interface.address, interface.prefix,
        interface.mbit == 0 ? "speed not told" : human_rate(static_cast<double>(interface.mbit) * 1e6),
        interface.mtu));
  }
  for (const Interface* trap : traps) {
    report_trap(own, *trap, peer, fmt::format("{}", fmt::join(good, ",")), section);
  }
  section.rows.push_back(
      {"messages",
       ways.empty()
           ? fmt::format("TCP from {} to {} by the routing table: they share no network", own.node, peer.node)
           : fmt::format("TCP from {} to {} over {}", own.node, peer.node, fmt::join(ways, " and "))});
  const TcpFilter filter = filter_of(own);
  section.rows.push_back({"chosen by", !filter.include.empty() ? "btl_tcp_if_include = " + filter.include
                                       : filter.exclude.empty()
                                           ? "Open MPI: every interface whose network both nodes have"
                                           : "btl_tcp_if_exclude = " + filter.exclude});
  if (good.size() > 1) {
    section.warnings.push_back(
        fmt::format("MPI spreads its messages over {}: where one is much slower, choose by "
                    "OMPI_MCA_btl_tcp_if_include={}",
                    fmt::join(good, " and "), good.front()));
  }
}

}  // namespace

Probe interface_probe() {
  return {"interface", "which interface MPI's messages take", [] { return std::vector<Stage>{{look}}; },
          report};
}

}  // namespace lockstep::doctor
