// How fast each rank multiplies matrices while all of them do.
#include <fmt/format.h>

#include <algorithm>

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
class Product {
 public:
  Product(device::Device& device, device::DType type, std::int64_t width)
      : device_(device),
        operations_(0.5 * static_cast<double>(width * width) * static_cast<double>(width)),
        x_(device.empty({width / 4, width}, type)),
        weight_(device.empty({width, width}, type)),
        bias_(device.zeros({width})),
        y_(device.empty({width / 4, width}, type)) {
    device.fill(0.5F, x_);
    device.fill(0.25F, weight_);
    multiply();  // generates the code
  }

  double operations() const { return operations_; }
  double seconds(double least_seconds, int rounds) const {
    return seconds_of(
        device_, [this] { multiply(); }, least_seconds, rounds);
  }

 private:
  void multiply() const { device_.linear_forward(x_, weight_, bias_, device::Activation::none, {}, y_); }

  device::Device& device_;
  double operations_;
  device::Tensor x_, weight_, bias_, y_;
};

device::DType type_of(const Context& context) {
  return context.resolved == nullptr ? device::DType::f32
                                     : train::compute_type(context.resolved->config.train);
}

// On a CPU the least one will do.
void find_width(Context& context, Facts& mine) {
  if (!context.on_gpu()) return;
  mine = context.patience.run("matrix products", [on = *context.device, type = type_of(context)] {
    const auto device = on.open();
    std::int64_t width = least_width;
    while (width < most_width && Product(*device, type, width).seconds(0, 1) < worth_its_call) width *= 2;
    return Facts{{"gemm_width", fmt::format("{}", width)}};
  });
}

void measure(Context& context, Facts& mine) {
  if (!context.device) return;
  // The same on all ranks, for they are compared.
  double width = least_width;
  for (const RankFacts& rank : context.findings.at("compute")) {
    width = std::max(width, number_of(rank.facts, "gemm_width").value_or(0));
  }
  mine.merge(context.patience.run("matrix products", [on = *context.device, type = type_of(context), width] {
    const auto device = on.open();
    const Product product(*device, type, static_cast<std::int64_t>(width));
    return Facts{{"gemm_flops",
                  fmt::format("{:.4g}", product.operations() / product.seconds(long_enough, most_rounds))},
                 {"gemm_device", std::string(device->kind())},
                 {"gemm_type", std::string(device::name_of(type))}};
  }));
  mine["gemm_width"] = fmt::format("{}", width);
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
  return {"compute", "rate of matrix products on each rank",
          [] {
            return std::vector<Stage>{{find_width}, {measure}};
          },
          report, true};
}

}  // namespace lockstep::doctor
