#include "plan/contradictions.h"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>

#include "plan/hca_choice.h"
#include "plan/name_list.h"
#include "site/in_quotes.h"
#include "site/variables.h"

namespace lockstep::spank {

namespace {

bool equals(const Decision* decision, const char* word) {
  return decision != nullptr && ::strcasecmp(decision->value->c_str(), word) == 0;
}

const Decision* find_on(const Settings& settings, std::string_view variable) {
  const Decision* decision = settings.find(variable);
  return decision != nullptr && is_on(*decision->value) ? decision : nullptr;
}

// The profile's values were checked when it was read.
void look_at_values(Settings& settings) {
  for (const std::string_view variable : typed_variables()) {
    const Decision* decision = settings.find(variable);
    if (decision == nullptr || decision->source == Source::profile || decision->source == Source::rule)
      continue;
    if (const auto fault = fault_of_value(variable, *decision->value)) {
      settings.advise(fmt::format("{} ({}) {}", variable, decision->origin, *fault), "correct the value");
    }
  }
}

// `loser` does nothing while `winner` is in effect. Whoever has more say may well mean that; only where the
// loser was asked for with as much say has somebody been let down.
void report_if_meant(Settings& settings, const Decision* winner, const Decision* loser) {
  if (winner == nullptr || loser == nullptr || loser->source > winner->source) return;
  settings.warn(fmt::format("{} has no effect beside {}", setting(*loser), setting(*winner)), undo(*winner));
}

void look_at_networks(const Facts& facts, Settings& settings) {
  const Decision* hca = settings.find("NCCL_IB_HCA");
  const Decision* net = settings.find("NCCL_NET");
  report_if_meant(settings, find_on(settings, "NCCL_IB_DISABLE"), hca);
  report_if_meant(settings, equals(net, "Socket") ? net : nullptr, hca);
  const auto& interfaces = facts.machine.interfaces;
  const bool slingshot = std::any_of(interfaces.begin(), interfaces.end(), [](const Interface& interface) {
    return interface.name.starts_with("hsn");
  });
  const Decision* plugin = settings.find("NCCL_NET_PLUGIN");
  if (slingshot && plugin != nullptr && (equals(net, "AWS Libfabric") || equals(net, "OFI"))) {
    settings.advise(fmt::format("{} and {} are both set: on Slingshot the first alone chooses the network",
                                setting(*net), setting(*plugin)),
                    undo(*plugin));
  }
}

// The rate of the fastest port that the list selects.
double rate_of(const NameList& list, const Machine& machine) {
  double rate = 0;
  for (const Hca& hca : machine.hcas) {
    for (const HcaPort& port : hca.ports) {
      if (port.active && list.selects(hca.name, port.number)) rate = std::max(rate, port.rate_gbps);
    }
  }
  return rate;
}

std::string join(const std::vector<PortRef>& ports) {
  std::string names;
  for (const PortRef& ref : ports) names += (names.empty() ? "" : ",") + ref.name();
  return names;
}

// Fewer ports than the rule takes may be meant, as one beside the GPU of each task; slower ones hardly are.
void look_at_slow_hcas(const Facts& facts, Settings& settings) {
  if (facts.step.nodes < 2 || !facts.machine.complete) return;
  if (facts.profile.hca_rule != Profile::HcaRule::automatic) return;
  const Decision* given = settings.find("NCCL_IB_HCA");
  if (given == nullptr || given->source == Source::rule || given->source == Source::profile) return;
  if (find_on(settings, "NCCL_IB_DISABLE") != nullptr || equals(settings.find("NCCL_NET"), "Socket")) return;
  const HcaChoice choice = choose_hcas(facts.machine, facts.profile);
  const std::string chosen = "=" + join(choice.chosen);
  const double slow = rate_of(NameList(*given->value), facts.machine);
  const double fast = choice.chosen.empty() ? 0 : rate_of(NameList(chosen), facts.machine);
  // Nothing at all is told of where the HCAs are chosen.
  if (slow == 0 || slow >= fast) return;
  settings.advise(
      fmt::format("{} selects no port of more than {:g} Gb/s; the rule would choose {} of {:g} Gb/s",
                  setting(*given), slow, chosen, fast),
      "--nccl-set=NCCL_IB_HCA=" + chosen);
}

bool has_active_infiniband(const Machine& machine) {
  return std::any_of(machine.hcas.begin(), machine.hcas.end(), [](const Hca& hca) {
    return std::any_of(hca.ports.begin(), hca.ports.end(),
                       [](const HcaPort& port) { return port.active && port.link_layer == "InfiniBand"; });
  });
}

// Switches that were turned while looking for a fault, and forgotten. The profile's are the site's own
// decision.
void look_at_switches(const Facts& facts, Settings& settings) {
  const auto report = [&](std::string_view variable, std::string_view effect) {
    const Decision* decision = find_on(settings, variable);
    if (decision == nullptr || decision->source == Source::profile) return;
    settings.advise(fmt::format("{}: {}", setting(*decision), effect), undo(*decision));
  };
  report("NCCL_P2P_DISABLE", "the GPUs of a node exchange data through host memory, not NVLink or PCIe");
  report("NCCL_SHM_DISABLE", "processes of a node that cannot use P2P talk through the network");
  if (facts.step.nodes > 1 && has_active_infiniband(facts.machine)) {
    report("NCCL_IB_DISABLE", "the nodes talk over TCP although InfiniBand is up");
  }
}

}  // namespace

std::string setting(const Decision& decision) {
  return fmt::format("{}={} ({})", decision.variable, in_quotes(*decision.value), decision.origin);
}

std::string undo(const Decision& decision) {
  switch (decision.source) {
    case Source::option:
      return fmt::format("leave out --nccl-set={}", decision.variable);
    case Source::user:
      return fmt::format("unset it, or --nccl-unset={}", decision.variable);
    case Source::user_file:
      return fmt::format("remove {}", decision.origin);
    case Source::profile:
    case Source::site_file:
      return fmt::format("have the administrator remove {} from {}", decision.variable, decision.origin);
    case Source::rule:
      break;
  }
  return fmt::format("--nccl-unset={}", decision.variable);
}

void look_at_contradictions(const Facts& facts, Settings& settings) {
  look_at_values(settings);
  look_at_networks(facts, settings);
  look_at_slow_hcas(facts, settings);
  look_at_sockets(facts, settings);
  look_at_switches(facts, settings);
}

}  // namespace lockstep::spank
