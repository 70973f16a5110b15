#include "doctor/communication.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "comm/host_collectives.h"
#include "comm/room.h"
#include "core/clock.h"
#include "core/text.h"

namespace lockstep::doctor {

namespace {

constexpr double long_enough = 0.2;  // seconds for one size
constexpr int least_rounds = 2;
constexpr int most_rounds = 500;
constexpr std::int64_t largest = std::int64_t{256} << 20;

std::vector<std::int64_t> sizes_for(const Context& context) {
  std::vector<std::int64_t> sizes;
  if (context.measures_all()) {
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
double time_sum(Context& context, const SumWay& way, const device::Tensor& data, double deadline) {
  const auto timed = [&](int rounds) {
    way.device.synchronise();
    comm::collectives::barrier(context.messages, deadline);
    const double begin = monotonic_seconds();
    for (int round = 0; round < rounds; ++round) way.sum(data);
    way.device.synchronise();
    return (monotonic_seconds() - begin) / rounds;
  };
  const double once = timed(1);  // opens connections
  const double wanted =
      std::clamp(std::ceil(long_enough / std::max(once, 1e-6)), double{least_rounds}, double{most_rounds});
  return timed(static_cast<int>(from_first(context, wanted, deadline)));
}

}  // namespace

void time_sums(Context& context, const SumWay& way, Facts& mine) {
  // A quarter of the limit for each way: what comes next for all sizes is far below the rest.
  const double end = monotonic_seconds() + context.patience.limit() / 4;
  const double deadline = monotonic_seconds() + context.patience.limit();
  double before = 0, size_before = 0;
  for (const std::int64_t size : sizes_for(context)) {
    // Smaller ones are a matter of latency, whatever their size.
    const double grown = static_cast<double>(size) / std::max(size_before, 256. * 1024);
    const double expected = 3 * before * grown;
    const bool goes_on = expected < end - monotonic_seconds();
    if (from_first(context, goes_on ? 1 : 0, deadline) == 0) {
      mine[fmt::format("left_out_from.{}", way.name)] = fmt::format("{}", size);
      break;
    }
    const auto data = way.device.empty({size / static_cast<std::int64_t>(size_of(way.type))}, way.type);
    way.device.fill(0, data);
    before = time_sum(context, way, data, deadline);
    size_before = static_cast<double>(size);
    if (context.rank() != 0) continue;
    mine[fmt::format("all_reduce.{}.{:012}", way.name, size)] = fmt::format("{:.6g}", before);
  }
}

double bus_rate(double bytes, double seconds, std::size_t ranks) {
  const auto r = static_cast<double>(ranks);
  return 2 * (r - 1) / r * bytes / seconds;
}

std::vector<SumTime> sum_times(const Facts& facts, const std::string& way) {
  const std::string prefix = fmt::format("all_reduce.{}.", way);
  std::vector<SumTime> times;
  for (const auto& [key, value] : facts) {
    if (!key.starts_with(prefix)) continue;
    const auto bytes = parse_int(key.substr(prefix.size()));
    const auto seconds = parse_double(value);
    if (bytes && seconds) times.push_back({static_cast<double>(*bytes), *seconds});
  }
  return times;
}

std::vector<SumTime> training_sum_times(const Facts& facts) {
  return sum_times(facts, sums_by_nccl(facts) ? std::string(nccl_way) : "auto");
}

bool sums_by_nccl(const Facts& facts) {
  return text_of(facts, "sums_by") == nccl_way;
}

}  // namespace lockstep::doctor
