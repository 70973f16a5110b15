// Where the ranks meet: MASTER_ADDR and MASTER_PORT for the program, NCCL_RAS_ADDR for NCCL's own service.
#include <fmt/format.h>

#include "plan/concern.h"
#include "plan/port_pair.h"

namespace lockstep::spank {

namespace {

struct Port {
  int number = 0;
  std::string reason;
};

// The first is for the program's rendezvous, the second for NCCL's RAS.
struct Ports {
  std::optional<Port> rendezvous;
  std::optional<Port> ras;
};

// %h is the node's name, %s the part up to the first dot, %% a percent sign; the profile's reader refuses
// others.
std::string apply_pattern(std::string_view pattern, const std::string& host) {
  std::string address;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (next == 'h') address += host;
    if (next == 's') address += host.substr(0, host.find('.'));
    if (next == '%') address += '%';
    if (next == 'h' || next == 's' || next == '%') {
      ++i;
    } else {
      address += pattern[i];
    }
  }
  return address;
}

void set_address(const Facts& facts, Settings& settings) {
  if (settings.find("MASTER_ADDR") != nullptr) return;
  const Step& step = facts.step;
  if (step.rank0_node.empty()) {
    settings.warn(
        fmt::format("the node of rank 0 is not known, MASTER_ADDR is not set: {}", step.rank0_note),
        "start the step with --mpi=pmix, list its hosts in a file that all nodes see and name it in "
        "SLURM_HOSTFILE, or set MASTER_ADDR yourself");
    return;
  }
  const std::string address = apply_pattern(facts.profile.address, step.rank0_node);
  const std::string reason = fmt::format("node of rank 0: {}", step.rank0_note);
  if (facts.profile.address == Profile().address) {
    settings.propose("MASTER_ADDR", address, reason);
  } else {
    settings.propose_for_profile("MASTER_ADDR", address,
                                 fmt::format("{}, written as {}", reason, facts.profile.address));
  }
}

void add_computed(const Facts& facts, Settings& settings, Ports& ports) {
  const Profile& profile = facts.profile;
  const auto pair = port_pair(facts.step, profile.port_first, profile.port_last);
  if (!pair) {
    settings.warn(fmt::format("no two ports above 1023 from {} to {}", profile.port_first, profile.port_last),
                  "give the profile a wider range of ports");
    return;
  }
  const Machine& machine = facts.machine;
  if (profile.port_first <= machine.ephemeral_last && profile.port_last >= machine.ephemeral_first) {
    settings.advise(
        fmt::format(
            "ports {} to {} overlap with those that the node gives to outgoing connections ({} to {})",
            profile.port_first, profile.port_last, machine.ephemeral_first, machine.ephemeral_last),
        "set MpiParams=ports= in slurm.conf, or a range in the profile, outside "
        "net.ipv4.ip_local_port_range");
  }
  const auto reason = [](std::string_view reserved) {
    return fmt::format("from job, step and restart count: Slurm has reserved {} for this step", reserved);
  };
  if (!ports.rendezvous) {
    ports.rendezvous = {pair->first, reason("no port")};
    ports.ras = {pair->second, reason("no port")};
  } else {
    const bool taken = ports.rendezvous->number == pair->second;
    ports.ras = {taken ? pair->first : pair->second, reason("one port only")};
  }
}

Ports choose_ports(const Facts& facts, Settings& settings) {
  const std::vector<int>& reserved = facts.step.reserved_ports;
  const auto port_at = [&](std::size_t place) {
    return Port{reserved[place % reserved.size()],
                fmt::format("port {} of {} that Slurm reserved for this step (SLURM_STEP_RESV_PORTS)",
                            place % reserved.size() + 1, reserved.size())};
  };
  // Another one after a requeue: Slurm may give the same ports again, and a rank of old may still knock.
  const auto first = static_cast<std::size_t>(facts.step.restart);
  Ports ports;
  if (!reserved.empty()) ports.rendezvous = port_at(first);
  if (reserved.size() > 1) {
    ports.ras = port_at(first + 1);
  } else {
    add_computed(facts, settings, ports);
  }
  return ports;
}

}  // namespace

void set_rendezvous(const Facts& facts, Settings& settings) {
  set_address(facts, settings);
  if (settings.find("MASTER_PORT") != nullptr && settings.find("NCCL_RAS_ADDR") != nullptr) return;
  const Ports ports = choose_ports(facts, settings);
  if (ports.rendezvous) {
    settings.propose("MASTER_PORT", std::to_string(ports.rendezvous->number), ports.rendezvous->reason);
  }
  if (ports.ras) {
    settings.propose("NCCL_RAS_ADDR", fmt::format("localhost:{}", ports.ras->number), ports.ras->reason);
  }
}

}  // namespace lockstep::spank
