#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/text.h"
#include "optim/adamw.h"
#include "optim/optimizer.h"
#include "optim/sgd.h"

namespace lockstep::optim {

namespace {

constexpr std::array<OptimizerEntry, 2> table{{
    {"sgd", "stochastic gradient descent with momentum and weight decay", make_sgd},
    {"adamw", "Adam with decoupled weight decay and bias correction", make_adamw},
}};

}  // namespace

std::span<const OptimizerEntry> optimizers() {
  return table;
}

std::unique_ptr<Optimizer> make_optimizer(std::string_view name, const OptimizerOptions& options,
                                          nn::ParameterSet& parameters) {
  const auto entry =
      std::find_if(table.begin(), table.end(), [&](const OptimizerEntry& e) { return e.name == name; });
  if (entry == table.end()) {
    std::vector<std::string> names;
    for (const OptimizerEntry& e : table) names.emplace_back(e.name);
    const std::optional<std::string> near = nearest(name, names);
    throw Error(ExitCode::bad_config,
                fmt::format("there is no optimizer '{}'{}; known are: {}", name,
                            near ? fmt::format(", did you mean '{}'", *near) : "", fmt::join(names, ", ")));
  }
  return entry->make(options, parameters);
}

}  // namespace lockstep::optim
