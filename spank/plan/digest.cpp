#include "plan/digest.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/hash.h"
#include "plan/version.h"

namespace lockstep::spank {

namespace {

bool may_differ(std::string_view variable) {
  for (const std::string_view name : {"NCCL_SOCKET_IFNAME", "NCCL_TOPO_FILE", "NCCL_TOPO_DUMP_FILE",
                                      "NCCL_GRAPH_DUMP_FILE", "NCCL_DEBUG_FILE", "NCCL_SOCKET_FAMILY"}) {
    if (variable == name) return true;
  }
  return false;
}

// Independent of the order in which the decisions were made.
template <typename Wanted>
std::string text_of(const Plan& plan, Wanted&& wanted) {
  std::map<std::string_view, std::string_view> values;
  for (const Decision& decision : plan.decisions) {
    if (decision.value && wanted(decision.variable)) values[decision.variable] = *decision.value;
  }
  std::string text;
  for (const auto& [variable, value] : values) text += fmt::format("{}={}\n", variable, value);
  return text;
}

}  // namespace

std::string digest_of(const Plan& plan, std::uint64_t config_hash, const std::string& driver) {
  const std::string rendezvous =
      text_of(plan, [](std::string_view variable) { return variable.starts_with("MASTER_"); });
  std::string nccl = text_of(
      plan, [](std::string_view variable) { return variable.starts_with("NCCL_") && !may_differ(variable); });
  for (const std::string& fact : plan.equal) nccl += fact + '\n';
  const auto shorten = [](std::uint64_t hash) { return static_cast<std::uint32_t>(hash ^ (hash >> 32)); };
  return fmt::format("v1 plugin={:08x} config={:08x} rendezvous={:08x} nccl={:08x} driver={:08x}",
                     shorten(hash64(std::string_view(plugin_version_text))), shorten(config_hash),
                     shorten(hash64(std::string_view(rendezvous))), shorten(hash64(std::string_view(nccl))),
                     shorten(hash64(driver)));
}

}  // namespace lockstep::spank
