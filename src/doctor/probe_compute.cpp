// How fast each rank multiplies matrices while all of them do.
#include <fmt/format.h>

#include <algorithm>

#include "core/clock.h"
#include "device/cpu/cpu_device.h"
#include "doctor/probes.h"

namespace lockstep::doctor {

namespace {

constexpr std::int64_t rows = 256;
constexpr std::int64_t width = 1024;
constexpr double long_enough = 0.5;  // seconds
constexpr int most_rounds = 1000;

void measure(Context& context, Facts& mine) {
  device::CpuDevice cpu(context.threads);
  const auto x = cpu.empty({rows, width});
  const auto weight = cpu.empty({width, width});
  const auto bias = cpu.zeros({width});
  const auto y = cpu.empty({rows, width});
  cpu.fill(0.5F, x);
  cpu.fill(0.25F, weight);
  const auto multiply = [&] { cpu.linear_forward(x, weight, bias, device::Activation::none, {}, y); };
  multiply();  // generates the code
  int rounds = 0;
  const double begin = monotonic_seconds();
  double took = 0;
  for (; took < long_enough && rounds < most_rounds; took = monotonic_seconds() - begin) {
    multiply();
    ++rounds;
  }
  const double operations = 2. * rows * width * width * rounds;
  mine["gemm_flops"] = fmt::format("{:.4g}", operations / took);
}

void report(const Findings&, Section& section) {
  const Spread rates = spread(section.ranks, "gemm_flops", Better::higher);
  if (rates.count == 0) return;
  section.rows.push_back(
      {"GEMM f32",
       rates.count == 1
           ? fmt::format("{:.1f} GFLOP/s", rates.typical / 1e9)
           : fmt::format("{:.1f} GFLOP/s per rank; slowest {:.1f} ({}), together {:.1f}", rates.typical / 1e9,
                         rates.worst / 1e9, name_of(*rates.worst_rank), rates.sum / 1e9)});
  if (stands_out(rates, Better::higher)) {
    section.warnings.push_back(
        fmt::format("{} computes at {:.0f} % of the others' rate, and all wait for it: what else runs there? "
                    "is it bound to the "
                    "cores of others?",
                    name_of(*rates.worst_rank), 100 * rates.worst / rates.typical));
  }
}

}  // namespace

Probe compute_probe() {
  return {"compute", "rate of matrix products on each rank", [] { return std::vector<Stage>{{measure}}; },
          report};
}

}  // namespace lockstep::doctor
