// The interface for NCCL's sockets, and the same for the libraries beside it.
#include <fmt/format.h>

#include <algorithm>

#include "plan/concern.h"
#include "plan/interface_choice.h"

namespace lockstep::spank {

namespace {

std::string join(const std::vector<const Interface*>& interfaces) {
  std::string names;
  for (const Interface* interface : interfaces) names += (names.empty() ? "" : ",") + interface->name;
  return names;
}

std::string reason_of(const InterfaceChoice& choice) {
  if (choice.passed_over.empty()) return choice.reason;
  return fmt::format("{}; not {}", choice.reason, describe(choice.passed_over));
}

// AF_INET or AF_INET6 where the interfaces have only the one; empty where they have both, or have nothing in
// common.
std::string only_family(const std::vector<const Interface*>& interfaces) {
  bool v4 = false;
  bool v6 = false;
  for (const Interface* interface : interfaces) {
    for (const Address& address : interface->addresses) {
      if (!address.link_local) (address.ipv6 ? v6 : v4) = true;
    }
  }
  if (v4 == v6) return {};
  return v4 ? "AF_INET" : "AF_INET6";
}

// Libraries that take one interface by its name.
void propose_for_others(const Facts& facts, Settings& settings, const Interface& interface,
                        const std::string& reason) {
  settings.propose("GLOO_SOCKET_IFNAME", interface.name, reason);
  settings.propose("TP_SOCKET_IFNAME", interface.name, reason);
  // Open MPI refuses to run with a list of each kind.
  if (settings.find("OMPI_MCA_btl_tcp_if_exclude") == nullptr) {
    settings.propose("OMPI_MCA_btl_tcp_if_include", interface.name, reason);
  }
  if (facts.machine.hcas.empty()) settings.propose("UCX_NET_DEVICES", interface.name, reason);
}

// Somebody with more say has named interfaces for NCCL: the others follow where that leaves no doubt.
void follow_setting(const Facts& facts, Settings& settings, const Decision& setting,
                    const InterfaceChoice& choice) {
  const auto selected = selected_by(*setting.value, facts.machine);
  if (!selected) return;
  if (selected->empty()) {
    settings.warn(
        fmt::format(
            "NCCL_SOCKET_IFNAME={} ({}) selects no interface of this node that is up with an address: "
            "NCCL would say \"no socket interface found\"",
            *setting.value, setting.origin),
        choice.chosen.empty() ? "correct it, or leave it out with --nccl-unset=NCCL_SOCKET_IFNAME"
                              : fmt::format("--nccl-set=NCCL_SOCKET_IFNAME=={}", join(choice.chosen)));
    return;
  }
  if (selected->size() == 1) {
    propose_for_others(facts, settings, *selected->front(), "the interface that NCCL_SOCKET_IFNAME selects");
    return;
  }
  for (const Interface* chosen : choice.chosen) {
    if (std::find(selected->begin(), selected->end(), chosen) == selected->end()) continue;
    propose_for_others(facts, settings, *chosen,
                       "the best of those that NCCL_SOCKET_IFNAME selects: " + choice.reason);
    return;
  }
}

void advise_on_none(const Facts& facts, Settings& settings, const InterfaceChoice& choice) {
  if (facts.step.nodes < 2) return;
  const std::string looked_at =
      choice.passed_over.empty() ? "there is only loopback" : "not " + describe(choice.passed_over);
  settings.advise(fmt::format("no network interface reaches other nodes: {}", looked_at),
                  "name one in the profile (interfaces), or --nccl-set=NCCL_SOCKET_IFNAME==NAME");
}

// Where nothing but the name decides, it may be one that leads nowhere.
void advise_on_name(const Facts& facts, Settings& settings, const InterfaceChoice& choice) {
  if (facts.step.nodes < 2 || !choice.by_name_alone) return;
  settings.advise(fmt::format("of several interfaces that would do {} was taken by its name alone: not {}",
                              join(choice.chosen), describe(choice.passed_over)),
                  "name the right one in the profile (interfaces), or --nccl-set=NCCL_SOCKET_IFNAME==NAME");
}

}  // namespace

void set_interface(const Facts& facts, Settings& settings) {
  if (!facts.machine.complete) {
    settings.warn_of_task("reading this node's devices took too long: no interface and no HCA was chosen",
                          "look at the node's load; values can be set with --nccl-set");
    return;
  }
  const InterfaceChoice choice = choose_interface(facts.machine, facts.profile);
  if (const Decision* setting = settings.find("NCCL_SOCKET_IFNAME");
      setting != nullptr && !(choice.by_profile && setting->source == Source::site_file)) {
    // A copy: what follows adds to the list that holds the setting.
    follow_setting(facts, settings, Decision(*setting), choice);
    return;
  }
  if (choice.chosen.empty()) return advise_on_none(facts, settings, choice);
  advise_on_name(facts, settings, choice);
  const std::string reason = reason_of(choice);
  const std::string list = "=" + join(choice.chosen);
  if (choice.by_profile) {
    settings.propose_for_profile("NCCL_SOCKET_IFNAME", list, reason);
  } else {
    settings.propose("NCCL_SOCKET_IFNAME", list, reason);
  }
  // The name may differ from node to node, what it stands for may not.
  settings.expect_equal("socket interface: " + choice.kind);
  if (const std::string family = only_family(choice.chosen); !family.empty()) {
    settings.propose("NCCL_SOCKET_FAMILY", family,
                     fmt::format("no {} address of use on {}", family == "AF_INET" ? "IPv6" : "IPv4",
                                 join(choice.chosen)));
  }
  propose_for_others(facts, settings, *choice.chosen.front(), "the same interface as for NCCL");
}

}  // namespace lockstep::spank
