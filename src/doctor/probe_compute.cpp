// How fast each rank multiplies matrices while all of them do.
#include <fmt/format.h>

#include "device/tensor.h"
#include "doctor/compute_device.h"
#include "doctor/probes.h"
#include "train/learner.h"

namespace lockstep::doctor {

namespace {

constexpr std::int64_t least_width = 1024;
constexpr std::int64_t most_width = 8192;
constexpr double worth_its_call = 1e-3;  // seconds: of a smaller product a GPU's rate is that of its calls
constexpr double long_enough = 0.5;      // seconds
constexpr int most_rounds = 1024;

// A linear layer of so many units, for a quarter as many samples.
Facts measure_width(device::Device& device, device::DType type, std::int64_t width) {
  const std::int64_t rows = width / 4;
  const auto x = device.empty({rows, width}, type);
  const auto weight = device.empty({width, width}, type);
  const auto bias = device.zeros({width});
  const auto y = device.empty({rows, width}, type);
  device.fill(0.5F, x);
  device.fill(0.25F, weight);
  const auto multiply = [&] { device.linear_forward(x, weight, bias, device::Activation::none, {}, y); };
  multiply();  // generates the code
  const bool last = width == most_width || seconds_of(device, multiply, 0, 1) >= worth_its_call;
  if (!last) return measure_width(device, type, 2 * width);
  const double operations = 2. * static_cast<double>(rows * width) * static_cast<double>(width);
  const double seconds = seconds_of(device, multiply, long_enough, most_rounds);
  return {{"gemm_flops", fmt::format("{:.4g}", operations / seconds)},
          {"gemm_device", std::string(device.kind())},
          {"gemm_type", std::string(device::name_of(type))},
          {"gemm_width", fmt::format("{}", width)}};
}

void measure(Context& context, Facts& mine) {
  if (!context.device) return;
  const auto type =
      context.resolved == nullptr ? device::DType::f32 : train::compute_type(context.resolved->config.train);
  mine = context.patience.run("matrix products", [on = *context.device, type] {
    return measure_width(*on.open(), type, least_width);
  });
}

void report(const Findings&, Section& section) {
  const Spread rates = spread(section.ranks, "gemm_flops", Better::higher);
  if (rates.count == 0) return;
  const double unit = rates.typical < 1e12 ? 1e9 : 1e12;
  const char prefix = rates.typical < 1e12 ? 'G' : 'T';
  section.rows.push_back({fmt::format("GEMM {}", text_of(section.ranks.front().facts, "gemm_type")),
                          rates.count == 1
                              ? fmt::format("{:.1f} {}FLOP/s", rates.typical / unit, prefix)
                              : fmt::format("{:.1f} {}FLOP/s per rank; slowest {:.1f} ({}), together {:.1f}",
                                            rates.typical / unit, prefix, rates.worst / unit,
                                            name_of(*rates.worst_rank), rates.sum / unit)});
  if (stands_out(rates, Better::higher)) {
    const bool gpu = text_of(rates.worst_rank->facts, "gemm_device") == "cuda";
    section.warnings.push_back(
        fmt::format("{} computes at {:.0f} % of the others' rate, and all wait for it: {}",
                    name_of(*rates.worst_rank), 100 * rates.worst / rates.typical,
                    gpu ? "what slows its GPU down (nvidia-smi -q -d PERFORMANCE)?"
                        : "what else runs there? is it bound to the cores of others?"));
  }
}

}  // namespace

Probe compute_probe() {
  return {"compute", "rate of matrix products on each rank", [] { return std::vector<Stage>{{measure}}; },
          report, true};
}

}  // namespace lockstep::doctor
