#include "plan/hca_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>

#include "plan/passed_over.h"

namespace lockstep::spank {

namespace {

constexpr std::string_view amazon = "0x1d0f";

// A port with what the rule looks at.
struct Candidate {
  PortRef ref;
  bool beside_gpu = false;
  std::string siblings;  // equal for ports that should run alike
  std::string why_out;   // empty: it may be chosen
};

bool shares_bridge(const PciDevice& left, const PciDevice& right) {
  return std::find_first_of(left.upstream.begin(), left.upstream.end(), right.upstream.begin(),
                            right.upstream.end()) != left.upstream.end();
}

bool is_beside_gpu(const PciDevice& device, const Machine& machine) {
  const auto gpus = machine.gpus();
  return std::any_of(gpus.begin(), gpus.end(),
                     [&](const PciDevice* gpu) { return shares_bridge(device, *gpu); });
}

bool interface_is_up(const Machine& machine, const std::string& name) {
  const auto find = [&](const std::string& wanted) {
    return std::find_if(machine.interfaces.begin(), machine.interfaces.end(),
                        [&](const Interface& interface) { return interface.name == wanted; });
  };
  const auto found = find(name);
  if (found == machine.interfaces.end()) return false;
  const auto master = find(found->master);
  return found->up || (master != machine.interfaces.end() && master->up);
}

// A port whose network device is not known gets the benefit of the doubt: it may be in another namespace.
bool has_network(const PortRef& ref, const Machine& machine) {
  if (ref.hca->netdev.empty() || interface_is_up(machine, ref.hca->netdev)) return true;
  return std::any_of(ref.port->gids.begin(), ref.port->gids.end(),
                     [&](const Gid& gid) { return interface_is_up(machine, gid.netdev); });
}

std::string why_out(const PortRef& ref, const PciDevice* device, const Machine& machine) {
  const HcaPort& port = *ref.port;
  if (ref.hca->pci.empty()) return "no hardware";
  if (device != nullptr && device->vendor == amazon) return "EFA, for libfabric";
  if (port.link_layer != "InfiniBand" && port.link_layer != "Ethernet") return "neither InfiniBand nor RoCE";
  if (!port.active) return state_of(port);
  if (port.link_layer == "Ethernet" && !has_network(ref, machine)) return ref.hca->netdev + " is down";
  return {};
}

// The function's number distinguishes the ports of one card: the second ones may be for something else.
std::string siblings_of(const PortRef& ref, const PciDevice* device, bool beside_gpu) {
  if (device == nullptr) return ref.name();
  return fmt::format("{} {} {} {} .{} :{} {} {}", device->vendor, device->device, device->subsystem_vendor,
                     device->subsystem_device, device->busid.back(), ref.port->number, ref.port->link_layer,
                     beside_gpu);
}

std::vector<Candidate> candidates_of(const Machine& machine, const Profile& profile) {
  std::vector<Candidate> candidates;
  for (const Hca& hca : machine.hcas) {
    const PciDevice* device = machine.device(hca.pci);
    for (const HcaPort& port : hca.ports) {
      Candidate candidate;
      candidate.ref = {&hca, &port};
      candidate.beside_gpu = device != nullptr && is_beside_gpu(*device, machine);
      candidate.siblings = siblings_of(candidate.ref, device, candidate.beside_gpu);
      candidate.why_out = why_out(candidate.ref, device, machine);
      if (candidate.why_out.empty() && port.rate_gbps < profile.hca_min_rate_gbps) {
        candidate.why_out = "below the profile's least rate";
      }
      candidates.push_back(std::move(candidate));
    }
  }
  return candidates;
}

using Pool = std::vector<const Candidate*>;

// InfiniBand before Ethernet.
Pool pool_of(const std::vector<Candidate>& candidates) {
  for (const std::string_view layer : {"InfiniBand", "Ethernet"}) {
    Pool pool;
    for (const Candidate& candidate : candidates) {
      if (candidate.why_out.empty() && candidate.ref.port->link_layer == layer) pool.push_back(&candidate);
    }
    if (!pool.empty()) return pool;
  }
  return {};
}

// A GPU with nothing beside it is as far from all that is on its NUMA node.
bool serves(const PciDevice& device, const PciDevice& gpu) {
  return shares_bridge(device, gpu) || (gpu.numa >= 0 && device.numa == gpu.numa);
}

// Each GPU has a device of this link layer beside it, or on its NUMA node one beside another GPU. One whose
// port is down counts: the others are no more for compute than they were when it was up.
bool covers_gpus(const std::vector<Candidate>& candidates, const std::string& layer, const Machine& machine) {
  const auto gpus = machine.gpus();
  return !gpus.empty() && std::all_of(gpus.begin(), gpus.end(), [&](const PciDevice* gpu) {
    return std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& candidate) {
      const bool fit = candidate.why_out.empty() || !candidate.ref.port->active;
      return fit && candidate.beside_gpu && candidate.ref.port->link_layer == layer &&
             serves(*machine.device(candidate.ref.hca->pci), *gpu);
    });
  });
}

bool beside_gpu(const Candidate* candidate) {
  return candidate->beside_gpu;
}

// The rate that each group of siblings is capable of: that of its fastest.
std::map<std::string, double> rates_of_siblings(const Pool& pool) {
  std::map<std::string, double> rates;
  for (const Candidate* candidate : pool) {
    double& rate = rates[candidate->siblings];
    rate = std::max(rate, candidate->ref.port->rate_gbps);
  }
  return rates;
}

std::vector<PassedOver> rest_of(const std::vector<Candidate>& candidates, const Pool& chosen) {
  std::vector<PassedOver> rest;
  for (const Candidate& candidate : candidates) {
    if (std::find(chosen.begin(), chosen.end(), &candidate) != chosen.end()) continue;
    const std::string& why = candidate.why_out;
    rest.push_back({candidate.ref.name(), why.empty() ? kind_of(*candidate.ref.port) : why});
  }
  return rest;
}

// What is wrong with ports of the groups that something was chosen from.
void find_ailing(const std::vector<Candidate>& candidates, const Pool& chosen,
                 const std::map<std::string, double>& capable, HcaChoice& choice) {
  for (const Candidate& candidate : candidates) {
    const bool in_use = std::any_of(chosen.begin(), chosen.end(), [&](const Candidate* each) {
      return each->siblings == candidate.siblings;
    });
    if (!in_use) continue;
    const double expected = capable.at(candidate.siblings);
    if (!candidate.ref.port->active) choice.down.push_back({candidate.ref, expected});
    if (candidate.why_out.empty() && candidate.ref.port->rate_gbps < expected) {
      choice.slow.push_back({candidate.ref, expected});
    }
  }
}

}  // namespace

std::string PortRef::name() const {
  return fmt::format("{}:{}", hca->name, port->number);
}

std::string state_of(const HcaPort& port) {
  return port.state.substr(port.state.rfind(' ') + 1);
}

std::string kind_of(const HcaPort& port) {
  return fmt::format("{:g} Gb/s {}", port.rate_gbps, port.link_layer);
}

HcaChoice choose_hcas(const Machine& machine, const Profile& profile) {
  HcaChoice choice;
  const std::vector<Candidate> candidates = candidates_of(machine, profile);
  Pool pool = pool_of(candidates);
  if (pool.empty()) {
    choice.reason = "none is for NCCL's own use: " + describe(rest_of(candidates, {}));
    return choice;
  }
  const auto capable = rates_of_siblings(pool);
  const std::string& layer = pool.front()->ref.port->link_layer;
  const bool covered =
      std::any_of(pool.begin(), pool.end(), beside_gpu) && covers_gpus(candidates, layer, machine);
  if (covered) std::erase_if(pool, std::not_fn(beside_gpu));

  double top = 0;
  for (const Candidate* candidate : pool) top = std::max(top, candidate->ref.port->rate_gbps);
  Pool chosen;
  std::copy_if(pool.begin(), pool.end(), std::back_inserter(chosen), [&](const Candidate* candidate) {
    if (covered) return capable.at(candidate->siblings) == top;
    return candidate->ref.port->rate_gbps == top || candidate->beside_gpu;
  });
  for (const Candidate* candidate : chosen) choice.chosen.push_back(candidate->ref);
  find_ailing(candidates, chosen, capable, choice);
  choice.reason = fmt::format("{:g} Gb/s {}{}", top, layer, covered ? ", beside the GPUs" : "");
  if (const auto rest = rest_of(candidates, chosen); !rest.empty())
    choice.reason += "; not " + describe(rest);
  return choice;
}

}  // namespace lockstep::spank
