#include "data/importer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.h"

namespace lockstep::data {

std::string ImportArguments::text(const std::string& name, const std::string& otherwise) const {
  const auto at = values_.find(name);
  return at == values_.end() ? otherwise : at->second.back();
}

std::vector<std::string> ImportArguments::all(const std::string& name) const {
  const auto at = values_.find(name);
  return at == values_.end() ? std::vector<std::string>{} : at->second;
}

std::size_t ImportArguments::choice(const std::string& name,
                                    std::span<const std::string_view> choices) const {
  const std::string value = text(name, std::string(choices.front()));
  const auto at = std::find(choices.begin(), choices.end(), value);
  if (at == choices.end()) {
    throw Error(ExitCode::usage,
                fmt::format("--{} is {}, wanted one of: {}", name, value, fmt::join(choices, ", ")));
  }
  return static_cast<std::size_t>(at - choices.begin());
}

}  // namespace lockstep::data
