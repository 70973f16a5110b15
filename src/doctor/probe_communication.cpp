// How fast the ranks add up their gradients, beside what plain TCP gets through on the same link.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "comm/open_communicator.h"
#include "comm/room.h"
#include "core/clock.h"
#include "core/text.h"
#include "device/cpu/cpu_device.h"
#include "doctor/alarm.h"
#include "doctor/communication.h"
#include "doctor/compute_device.h"
#include "doctor/machine.h"
#include "doctor/network.h"
#include "doctor/probes.h"
#include "doctor/tcp.h"
#include "train/gradient_sum.h"

namespace lockstep::doctor {

namespace {

constexpr int port_tag = 1003;
constexpr double tcp_seconds = 0.8;
constexpr std::size_t most_pairs = 8;

// The first rank of each network, in the order of ranks.
std::vector<const RankFacts*> network_heads(const Findings& findings) {
  std::vector<const RankFacts*> heads;
  const auto at = findings.find("interface");
  if (at == findings.end()) return heads;
  std::set<std::string> seen;
  for (const RankFacts& rank : at->second) {
    if (seen.insert(text_of(rank.facts, "network")).second) heads.push_back(&rank);
  }
  return heads;
}

// The peer's addresses, those in a network of ours first.
std::vector<std::string> addresses_of(const RankFacts& peer) {
  const TcpFilter filter{text_of(peer.facts, "tcp_if_include"), text_of(peer.facts, "tcp_if_exclude")};
  const auto own = interfaces();
  std::vector<std::string> near, far;
  for (const Interface& interface : interfaces_from_text(text_of(peer.facts, "interfaces"))) {
    if (!allows(filter, interface)) continue;
    const bool ours = std::any_of(own.begin(), own.end(), [&](const Interface& mine) {
      return same_subnet(mine, interface) && mine.address != interface.address;
    });
    (ours ? near : far).push_back(interface.address);
  }
  near.insert(near.end(), far.begin(), far.end());
  return near;
}

double tcp_with(Context& context, const RankFacts& peer, bool listens, double deadline) {
  comm::RoomFor<std::uint16_t> room(context.messages, 1);
  std::uint16_t& port = room.values().front();
  const auto bytes = room.bytes();
  if (!listens) {
    context.messages.wait(context.messages.receive(peer.rank, port_tag, bytes), deadline);
    if (port == 0) throw Error(ExitCode::peer_failed, fmt::format("TCP: {} does not listen", name_of(peer)));
    return duplex_rate(connect_tcp(addresses_of(peer), port, deadline), tcp_seconds);
  }
  Listener listener;
  try {
    listener = listen_tcp();
    port = listener.port;
  } catch (const Error&) {
    context.messages.wait(context.messages.send(peer.rank, port_tag, bytes), deadline);
    throw;
  }
  context.messages.wait(context.messages.send(peer.rank, port_tag, bytes), deadline);
  return duplex_rate(accept_tcp(listener, deadline), tcp_seconds);
}

// Each node with the next one.
void measure_tcp(Context& context, Facts& mine) {
  const auto heads = network_heads(context.findings);
  if (heads.size() < 2) return;
  const double deadline = monotonic_seconds() + context.patience.limit();
  const std::size_t pairs = heads.size() == 2 ? 1 : std::min(heads.size(), most_pairs);
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    const RankFacts& a = *heads[pair];
    const RankFacts& b = *heads[(pair + 1) % heads.size()];
    if (context.rank() != a.rank && context.rank() != b.rank) continue;
    const bool listens = context.rank() == a.rank;
    double rate = 0;
    try {
      rate = tcp_with(context, listens ? b : a, listens, deadline);
    } catch (const Error& error) {
      // MPI may have other ways than this test: what it gets through is measured all the same.
      mine["tcp_problem"] = fmt::format("with {}: {}", (listens ? b : a).node, error.what());
      continue;
    }
    if (const auto before = number_of(mine, "tcp_rate"); before && *before <= rate) continue;
    mine["tcp_rate"] = fmt::format("{:.6g}", rate);
    mine["tcp_peer"] = (listens ? b : a).node;
  }
}

// The library's own sum knows no limit.
void sum_once(Context& context, comm::Algorithm algorithm, const device::Tensor& data) {
  std::optional<Alarm> alarm;
  if (algorithm == comm::Algorithm::mpi) {
    alarm.emplace(context.patience.limit(),
                  fmt::format("rank {} on {} of {}: MPI_Allreduce of {} has not ended within {:.0f} s",
                              context.rank(), context.meeting.host(context.rank()), context.size(),
                              human_bytes(static_cast<double>(data.bytes())), context.patience.limit()));
  }
  context.communicators.at(algorithm)->all_reduce(data).wait();
}

// After a sum of that size: what was taken.
std::string what_auto_takes(const Context& context, std::int64_t bytes) {
  const comm::Choice choice = context.communicators.at(comm::Algorithm::automatic)
                                  ->choice(device::DType::f32, static_cast<std::size_t>(bytes));
  return fmt::format("{}{}", comm::name_of(choice.algorithm), choice.two_levels ? ", two levels" : "");
}

// In the host's memory: all ways where all are asked for, else the one of training on CPUs.
void measure_sums(Context& context, Facts& mine) {
  const bool on_cpus = context.device && !context.on_gpu();
  if (context.on_gpu()) mine["sums_by"] = nccl_way;
  if (context.size() == 1 || (!on_cpus && !context.measures_all())) return;
  device::CpuDevice cpu(context.threads);
  for (const auto& [algorithm, communicator] : context.communicators) {
    const std::string name(comm::name_of(algorithm));
    const auto sum = [&, which = algorithm](const device::Tensor& data) { sum_once(context, which, data); };
    time_sums(context, {name, cpu, device::DType::f32, sum}, mine);
    if (algorithm != comm::Algorithm::automatic) continue;
    for (const SumTime& time : sum_times(mine, name)) {
      mine[fmt::format("auto_takes.{:012.0f}", time.bytes)] =
          what_auto_takes(context, static_cast<std::int64_t>(time.bytes));
    }
  }
}

Alarm alarm_of(const Context& context) {
  const double limit = 3 * context.patience.limit();
  return {limit, fmt::format("rank {} on {} of {}: CUDA or NCCL has not come back within {:.0f} s",
                             context.rank(), context.meeting.host(context.rank()), context.size(), limit)};
}

// What has not come back may be the GPU.
std::unique_ptr<device::Device> open_gpu(const Context& context) {
  if (context.size() == 1 || !context.on_gpu()) return nullptr;
  context.patience.require_answers("sums by NCCL");
  const Alarm alarm = alarm_of(context);
  return context.device->open();
}

// As training on GPUs does it in fast mode.
void measure_nccl(Context& context, device::Device& gpu, Facts& mine) {
  const double limit = context.patience.limit();
  const Alarm alarm = alarm_of(context);
  comm::HostCommunicatorOptions with;
  with.limit_seconds = limit;
  with.start_seconds = limit;
  with.grace_seconds = limit / 2;
  const auto communicator = comm::open_device_communicator(context.group, gpu, with);
  const auto sum = [&](const device::Tensor& data) { communicator->all_reduce(data).wait(); };
  const auto type =
      context.resolved == nullptr ? device::DType::f32 : train::gradient_wire(context.resolved->config.comm);
  time_sums(context, {std::string(nccl_way), gpu, type, sum}, mine);
}

std::vector<Stage> stages() {
  const auto opened = std::make_shared<std::unique_ptr<device::Device>>();
  const auto open = [opened](Context& context, Facts&) { *opened = open_gpu(context); };
  const auto measure = [opened](Context& context, Facts& mine) {
    if (!*opened) return;
    std::unique_ptr<device::Device> gpu = std::move(*opened);
    try {
      measure_nccl(context, *gpu, mine);
    } catch (const std::exception&) {
      // A GPU that does not come to an end cannot be closed: it goes with the process.
      static_cast<void>(gpu.release());
      throw;
    }
  };
  return {{measure_tcp}, {measure_sums}, {open}, {measure}};
}

// `tcp`: bytes per second, 0 where it is not known.
void report_sums(const Facts& first, const std::string& name, double tcp, Section& section) {
  for (const SumTime& time : sum_times(first, name)) {
    const std::string taken = name != comm::name_of(comm::Algorithm::automatic)
                                  ? ""
                                  : text_of(first, fmt::format("auto_takes.{:012.0f}", time.bytes));
    const double rate = bus_rate(time.bytes, time.seconds, section.ranks.size());
    section.rows.push_back(
        {fmt::format("{} {}", name, human_bytes(time.bytes)),
         fmt::format("{:>9.3f} ms  busbw {:>7.3f} GB/s{}{}", time.seconds * 1e3, rate / 1e9,
                     tcp > 0 ? fmt::format("  {:>4.0f} % of TCP", 100 * rate / tcp) : "",
                     taken.empty() ? "" : "  by " + taken)});
  }
  if (const auto from = number_of(first, "left_out_from." + name)) {
    section.rows.push_back(
        {name, fmt::format("from {} on not measured: it would take too long (--limit)", human_bytes(*from))});
  }
}

void report(const Findings&, Section& section) {
  if (section.ranks.size() == 1) {
    section.rows.push_back({"all-reduce", "none: one rank"});
    return;
  }
  const Facts& first = section.ranks.front().facts;
  const Spread tcp = spread(section.ranks, "tcp_rate", Better::higher);
  if (tcp.count > 0) {
    section.rows.push_back(
        {"TCP", fmt::format("{} in each direction at once; slowest between {} and {}: {}",
                            human_rate(tcp.typical * 8), tcp.worst_rank->node,
                            text_of(tcp.worst_rank->facts, "tcp_peer"), human_rate(tcp.worst * 8))});
    if (stands_out(tcp, Better::higher)) {
      section.warnings.push_back(fmt::format(
          "TCP between {} and {} gets {:.0f} % of the other links' rate: look at "
          "its cable, switch port and negotiated speed (ethtool)",
          tcp.worst_rank->node, text_of(tcp.worst_rank->facts, "tcp_peer"), 100 * tcp.worst / tcp.typical));
    }
  }
  for (const RankFacts& rank : section.ranks) {
    if (const std::string problem = text_of(rank.facts, "tcp_problem"); !problem.empty()) {
      section.warnings.push_back(fmt::format("{} {}", name_of(rank), problem));
    }
  }
  const double rate = tcp.count > 0 ? tcp.worst : 0;
  // NCCL's way between GPUs need not be this link.
  report_sums(first, std::string(nccl_way), 0, section);
  for (const comm::Algorithm algorithm : comm::algorithms) {
    report_sums(first, std::string(comm::name_of(algorithm)), rate, section);
  }
}

}  // namespace

Probe communication_probe() {
  return {"communication", "rate of all-reduce by size, and of TCP on the same link", stages, report, true};
}

}  // namespace lockstep::doctor
