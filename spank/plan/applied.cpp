#include "plan/applied.h"

#include <fmt/format.h>

#include "core/hash.h"
#include "core/text.h"

namespace lockstep::spank {

namespace {

std::string mark_of(std::string_view variable, std::string_view value) {
  return fmt::format("{}:{:08x}", variable, static_cast<std::uint32_t>(hash64(value)));
}

// The marked variables whose value still is, or no longer is, the one that was set.
std::vector<std::string> marked_variables(const Environment& environment, bool unchanged) {
  std::vector<std::string> variables;
  for (const std::string& mark : split(find(environment, applied_variable).value_or(""), ',')) {
    const std::string variable = mark.substr(0, mark.find(':'));
    const auto value = find(environment, variable);
    const bool same = value && mark_of(variable, *value) == mark;
    if (same == unchanged) variables.push_back(variable);
  }
  return variables;
}

}  // namespace

std::string describe_applied(const std::map<std::string, std::string>& values) {
  std::string text;
  for (const auto& [variable, value] : values) {
    if (!text.empty()) text += ',';
    text += mark_of(variable, value);
  }
  return text;
}

std::vector<std::string> applied_variables(const Environment& environment) {
  return marked_variables(environment, true);
}

std::vector<std::string> changed_variables(const Environment& environment) {
  return marked_variables(environment, false);
}

}  // namespace lockstep::spank
