// The HCAs for NCCL's data, and the same for UCX.
#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "plan/concern.h"
#include "plan/gid.h"
#include "plan/hca_choice.h"
#include "plan/name_list.h"

namespace lockstep::spank {

namespace {

constexpr const char* not_for_compute = "if it is not for compute, list the HCAs in the profile";

std::string join(const std::vector<PortRef>& ports) {
  std::string names;
  for (const PortRef& ref : ports) names += (names.empty() ? "" : ",") + ref.name();
  return names;
}

// All ports of the node that the list selects, in the node's order.
std::vector<PortRef> ports_in(const Machine& machine, const NameList& list) {
  std::vector<PortRef> ports;
  for (const Hca& hca : machine.hcas) {
    for (const HcaPort& port : hca.ports) {
      if (list.selects(hca.name, port.number)) ports.push_back({&hca, &port});
    }
  }
  return ports;
}

std::vector<PortRef> active_ones(std::vector<PortRef> ports) {
  std::erase_if(ports, [](const PortRef& ref) { return !ref.port->active; });
  return ports;
}

bool infiniband_is_off(const Settings& settings) {
  const Decision* off = settings.find("NCCL_IB_DISABLE");
  return off != nullptr && parse_int(*off->value).value_or(0) != 0;
}

// A step on one node does not need the port that ails: it is told, and not failed in `strict`.
void tell_of_down(const Facts& facts, Settings& settings, const PortRef& ref,
                  const std::string& expectation) {
  std::string text = fmt::format("HCA port {} is {}{}", ref.name(), state_of(*ref.port), expectation);
  std::string remedy = fmt::format("check its cable and switch port (ibstat); {}", not_for_compute);
  if (facts.step.nodes > 1) {
    settings.warn(std::move(text), std::move(remedy));
  } else {
    settings.advise(std::move(text), std::move(remedy));
  }
}

void tell_of_ailing(const Facts& facts, Settings& settings, const HcaChoice& choice) {
  for (const AilingPort& port : choice.down) {
    tell_of_down(facts, settings, port.ref,
                 fmt::format("; its siblings run at {:g} Gb/s", port.expected_gbps));
  }
  for (const AilingPort& port : choice.slow) {
    settings.advise(fmt::format("HCA port {} runs at {:g} Gb/s, its siblings at {:g} Gb/s", port.ref.name(),
                                port.ref.port->rate_gbps, port.expected_gbps),
                    fmt::format("check its cable (a lane may be lost); {}", not_for_compute));
  }
}

// The node has InfiniBand and none of it works.
void tell_of_none(const Facts& facts, Settings& settings) {
  if (facts.step.nodes < 2) return;
  for (const Hca& hca : facts.machine.hcas) {
    for (const HcaPort& port : hca.ports) {
      if (port.link_layer == "InfiniBand" && !port.active) {
        return tell_of_down(facts, settings, {&hca, &port},
                            ", and no other port is active: NCCL would use sockets");
      }
    }
  }
}

// UCX names ports always; nothing else of the node is then used by it.
void propose_for_ucx(Settings& settings, const std::vector<PortRef>& ports) {
  if (!ports.empty()) settings.propose("UCX_NET_DEVICES", join(ports), "the same HCAs as for NCCL");
}

// Somebody with more say has set the variable: only a value that selects nothing is worth a word.
void check_setting(const Facts& facts, Settings& settings, const Decision& setting, const HcaChoice& choice) {
  const auto selected = active_ones(ports_in(facts.machine, NameList(*setting.value)));
  if (!selected.empty()) return set_gid_index(facts, settings, selected);
  settings.warn(fmt::format("NCCL_IB_HCA={} ({}) selects no active port of this node: NCCL would use sockets",
                            *setting.value, setting.origin),
                choice.chosen.empty() ? "correct it, or leave it out with --nccl-unset=NCCL_IB_HCA"
                                      : fmt::format("--nccl-set=NCCL_IB_HCA=={}", join(choice.chosen)));
}

void use_listed(const Facts& facts, Settings& settings) {
  const auto& names = facts.profile.hcas;
  std::string list;
  std::string missing;
  for (const std::string& name : names) {
    list += (list.empty() ? "" : ",") + name;
    const auto ports = ports_in(facts.machine, NameList("=" + name));
    if (ports.empty()) missing += (missing.empty() ? "" : ", ") + name;
    for (const PortRef& ref : ports) {
      if (!ref.port->active) tell_of_down(facts, settings, ref, ", and the profile lists it");
    }
  }
  if (!missing.empty() && facts.machine.complete) {
    settings.warn(fmt::format("the profile lists HCAs that this node has not: {}", missing),
                  "correct the profile's hca, or load the adapters' driver");
  }
  if (facts.machine.hcas.empty()) return;
  if (!settings.propose_for_profile("NCCL_IB_HCA", "=" + list, "the profile lists the HCAs")) return;
  const auto ports = ports_in(facts.machine, NameList("=" + list));
  propose_for_ucx(settings, ports);
  set_gid_index(facts, settings, active_ones(ports));
}

}  // namespace

void set_hcas(const Facts& facts, Settings& settings) {
  if (facts.profile.hca_rule == Profile::HcaRule::none) {
    if (!facts.machine.hcas.empty()) settings.leave_unset("NCCL_IB_HCA", "the profile says hca = none");
    return;
  }
  if (infiniband_is_off(settings)) return;
  if (facts.profile.hca_rule == Profile::HcaRule::listed) return use_listed(facts, settings);
  // What is not complete may differ from node to node; set_interface tells.
  if (facts.machine.hcas.empty() || !facts.machine.complete) return;
  const HcaChoice choice = choose_hcas(facts.machine, facts.profile);
  if (const Decision* setting = settings.find("NCCL_IB_HCA")) {
    // A copy: what follows adds to the list that holds the setting.
    return check_setting(facts, settings, Decision(*setting), choice);
  }
  if (choice.chosen.empty()) {
    settings.leave_unset("NCCL_IB_HCA", choice.reason);
    return tell_of_none(facts, settings);
  }
  if (settings.propose("NCCL_IB_HCA", "=" + join(choice.chosen), choice.reason)) {
    propose_for_ucx(settings, choice.chosen);
  }
  tell_of_ailing(facts, settings, choice);
  set_gid_index(facts, settings, choice.chosen);
}

}  // namespace lockstep::spank
