// How fast the ranks add up their gradients, beside what plain TCP gets through on the same link.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <set>

#include "comm/host_collectives.h"
#include "comm/room.h"
#include "core/clock.h"
#include "core/text.h"
#include "device/cpu/cpu_device.h"
#include "doctor/alarm.h"
#include "doctor/communication.h"
#include "doctor/machine.h"
#include "doctor/network.h"
#include "doctor/probes.h"
#include "doctor/tcp.h"

namespace lockstep::doctor {

namespace {

constexpr int port_tag = 1003;
constexpr double tcp_seconds = 0.8;
constexpr std::size_t most_pairs = 8;
constexpr double long_enough = 0.2;  // seconds for one size
constexpr int least_rounds = 2;
constexpr int most_rounds = 500;
constexpr std::int64_t largest = std::int64_t{256} << 20;

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

bool measures_all(const Context& context) {
  return context.communicators.size() > 1;
}

std::vector<std::int64_t> sizes_for(const Context& context) {
  std::vector<std::int64_t> sizes;
  if (measures_all(context)) {
    for (std::int64_t size = 4096; size <= largest; size *= 4) sizes.push_back(size);
    return sizes;
  }
  sizes = {4096, std::int64_t{1} << 20, std::int64_t{16} << 20};
  if (const auto model = context.findings.find("model"); model != context.findings.end()) {
    if (const auto bytes = number_of(model->second.front().facts, "gradient_bytes")) {
      sizes.push_back(std::min(largest, static_cast<std::int64_t>(*bytes) / 4 * 4));
    }
  }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

// One number of rank 0's on every rank.
double from_first(Context& context, double value, double deadline) {
  comm::RoomFor<double> room(context.messages, 1);
  room.values().front() = value;
  comm::collectives::broadcast(context.messages, room.bytes(), 0, deadline);
  return room.values().front();
}

// Seconds for one sum, as rank 0 sees it; how often it is repeated, and whether at all, is rank 0's to say.
double time_sum(Context& context, const std::function<void()>& sum, double deadline) {
  const auto timed = [&](int rounds) {
    comm::collectives::barrier(context.messages, deadline);
    const double begin = monotonic_seconds();
    for (int round = 0; round < rounds; ++round) sum();
    return (monotonic_seconds() - begin) / rounds;
  };
  const double once = timed(1);  // opens connections
  const double wanted =
      std::clamp(std::ceil(long_enough / std::max(once, 1e-6)), double{least_rounds}, double{most_rounds});
  return timed(static_cast<int>(from_first(context, wanted, deadline)));
}

// The library's own sum knows no limit.
void sum_once(Context& context, comm::Algorithm algorithm, const device::Tensor& data) {
  std::optional<Alarm> alarm;
  if (algorithm == comm::Algorithm::mpi) {
    alarm.emplace(context.patience.limit(),
                  fmt::format("rank {} of {} on {}: MPI_Allreduce of {} has not ended within {:.0f} s",
                              context.rank(), context.size(), context.meeting.host(context.rank()),
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

void measure_sums(Context& context, Facts& mine) {
  if (context.size() == 1) return;
  device::CpuDevice cpu(context.threads);
  for (const auto& [algorithm, communicator] : context.communicators) {
    // A quarter of the limit for each: what comes next for all sizes is far below the rest.
    const double end = monotonic_seconds() + context.patience.limit() / 4;
    const double deadline = monotonic_seconds() + context.patience.limit();
    double before = 0, size_before = 0;
    for (const std::int64_t size : sizes_for(context)) {
      // Smaller ones are a matter of latency, whatever their size.
      const double grown = static_cast<double>(size) / std::max(size_before, 256. * 1024);
      const double expected = 3 * before * grown;
      const bool goes_on = expected < end - monotonic_seconds();
      if (from_first(context, goes_on ? 1 : 0, deadline) == 0) {
        mine[fmt::format("left_out_from.{}", comm::name_of(algorithm))] = fmt::format("{}", size);
        break;
      }
      const auto data = cpu.zeros({size / static_cast<std::int64_t>(sizeof(float))});
      const double seconds = time_sum(
          context, [&, which = algorithm] { sum_once(context, which, data); }, deadline);
      before = seconds;
      size_before = static_cast<double>(size);
      if (context.rank() != 0) continue;
      mine[fmt::format("all_reduce.{}.{:012}", comm::name_of(algorithm), size)] =
          fmt::format("{:.6g}", seconds);
      if (algorithm == comm::Algorithm::automatic) {
        mine[fmt::format("auto_takes.{:012}", size)] = what_auto_takes(context, size);
      }
    }
  }
}

}  // namespace

double bus_rate(double bytes, double seconds, std::size_t ranks) {
  const auto r = static_cast<double>(ranks);
  return 2 * (r - 1) / r * bytes / seconds;
}

std::vector<SumTime> sum_times(const Facts& facts, const std::string& algorithm) {
  const std::string prefix = fmt::format("all_reduce.{}.", algorithm);
  std::vector<SumTime> times;
  for (const auto& [key, value] : facts) {
    if (!key.starts_with(prefix)) continue;
    const auto bytes = parse_int(key.substr(prefix.size()));
    const auto seconds = parse_double(value);
    if (bytes && seconds) times.push_back({static_cast<double>(*bytes), *seconds});
  }
  return times;
}

namespace {

// `tcp`: bytes per second, 0 where it is not known.
void report_sums(const Facts& first, comm::Algorithm algorithm, double tcp, Section& section) {
  const std::string name(comm::name_of(algorithm));
  for (const SumTime& time : sum_times(first, name)) {
    const std::string taken = text_of(first, fmt::format("auto_takes.{:012.0f}", time.bytes));
    const double rate = bus_rate(time.bytes, time.seconds, section.ranks.size());
    section.rows.push_back(
        {fmt::format("{} {}", name, human_bytes(time.bytes)),
         fmt::format("{:>9.3f} ms  busbw {:>7.3f} GB/s{}{}", time.seconds * 1e3, rate / 1e9,
                     tcp > 0 ? fmt::format("  {:>4.0f} % of TCP", 100 * rate / tcp) : "",
                     algorithm == comm::Algorithm::automatic ? "  by " + taken : "")});
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
  for (const comm::Algorithm algorithm : comm::algorithms) {
    report_sums(first, algorithm, rate, section);
    const std::string name(comm::name_of(algorithm));
    if (const auto from = number_of(first, "left_out_from." + name)) {
      section.rows.push_back({name, fmt::format("from {} on not measured: it would take too long (--limit)",
                                                human_bytes(*from))});
    }
  }
}

}  // namespace

Probe communication_probe() {
  return {"communication", "rate of all-reduce by size, and of TCP on the same link",
          [] {
            return std::vector<Stage>{{measure_tcp}, {measure_sums}};
          },
          report};
}

}  // namespace lockstep::doctor
