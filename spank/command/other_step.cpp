#include "command/other_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "core/text.h"
#include "plan/applied.h"
#include "plan/digest.h"
#include "site/in_quotes.h"

namespace lockstep::spank {

namespace {

constexpr std::string_view no_file = "00000000";
constexpr std::size_t longest_value = 100;  // bytes that are shown

// The hash of the site's file in a digest; empty: there is none.
std::string config_of(std::string_view digest) {
  constexpr std::string_view key = "config=";
  for (const std::string& part : split(digest, ' ')) {
    if (part.starts_with(key)) return part.substr(key.size());
  }
  return {};
}

// What the plan leaves in the environment; what NCCL reads from its files is not in it.
std::optional<std::string> planned(const Decision* decision) {
  return decision == nullptr || decision->in_files ? std::nullopt : decision->value;
}

// A generated file has only a name as long as nobody has written it.
bool same(const std::optional<std::string>& value, const std::optional<std::string>& plan) {
  if (value == plan) return true;
  return value && plan && plan->find('/') == std::string::npos && plan->ends_with(".xml") &&
         value->ends_with("/" + *plan);
}

enum class Setter { plugin, later, other };

std::map<std::string, Setter> setters_in(const Plan& plan, const Environment& environment) {
  std::map<std::string, Setter> setters;
  for (const Decision& decision : plan.decisions) setters[decision.variable] = Setter::other;
  for (const std::string& variable : applied_variables(environment)) setters[variable] = Setter::plugin;
  for (const std::string& variable : changed_variables(environment)) setters[variable] = Setter::later;
  return setters;
}

std::string reason_of(Setter setter, bool is_set, bool other_file) {
  const std::string file = other_file ? "from another site's file, or " : "";
  switch (setter) {
    case Setter::plugin:
      return fmt::format("the plugin set it: {}by an option of srun{}", file,
                         other_file ? "" : ", or the node has changed since");
    case Setter::later:
      return fmt::format("{} after the plugin had set it: by a TaskProlog, a script or the program",
                         is_set ? "changed" : "taken out");
    case Setter::other:
      break;
  }
  return is_set ? "not by the plugin"
                : fmt::format(
                      "the plugin did not set it: {}by an option of srun, or for the program that srun "
                      "started (name it behind --)",
                      file);
}

}  // namespace

bool plugin_has_set(const Environment& environment) {
  return find(environment, applied_variable).has_value();
}

std::string other_site_file(const Plan& plan, const Environment& environment) {
  const std::string used = config_of(find(environment, digest_variable).value_or(""));
  const std::string read = config_of(plan.digest);
  if (used.empty() || used == read) return {};
  return fmt::format("the plugin used {} in this step", used == no_file   ? "no site's file"
                                                        : read == no_file ? "a site's file"
                                                                          : "another site's file");
}

std::vector<std::string> differences(const Plan& plan, const Environment& environment) {
  const bool other_file = !other_site_file(plan, environment).empty();
  std::vector<std::string> lines;
  for (const auto& [variable, setter] : setters_in(plan, environment)) {
    const auto value = find(environment, variable);
    // A changed value counts as the user's: the plan has taken it over.
    if (setter != Setter::later && same(value, planned(plan.find(variable)))) continue;
    lines.push_back(fmt::format("{} is {}: {}", variable,
                                value ? in_quotes(*value, longest_value) : std::string("not set"),
                                reason_of(setter, value.has_value(), other_file)));
  }
  return lines;
}

}  // namespace lockstep::spank
