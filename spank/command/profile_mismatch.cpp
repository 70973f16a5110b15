#include "command/profile_mismatch.h"

#include <fmt/format.h>

#include "site/in_quotes.h"

namespace lockstep::spank {

namespace {

constexpr std::size_t most_told = 5;

bool matches(Profile profile, const std::string& node, const Machine& machine) {
  profile.name = "tried";
  return choose_profile({.file = "", .profiles = {profile}}, node, machine).name == profile.name;
}

std::string mismatch_of(const Profile& profile, const std::string& node, const Machine& machine) {
  Profile tried;
  tried.nodes = profile.nodes;
  if (!matches(tried, node, machine)) {
    return fmt::format("the node's name {} is not {}", node, fmt::join(profile.nodes, " or "));
  }
  tried.nodes.clear();
  tried.products = profile.products;
  if (!matches(tried, node, machine)) {
    return fmt::format("the product {} is not {}", in_quotes(machine.product),
                       fmt::join(profile.products, " or "));
  }
  if (!machine.complete) return "sysfs could not be read in time";
  return fmt::format("no PCI device is {}", fmt::join(profile.pci, " or "));
}

}  // namespace

std::vector<std::string> mismatches(const SiteConfig& config, const std::string& node,
                                    const Machine& machine) {
  std::vector<std::string> lines;
  for (const Profile& profile : config.profiles) {
    if (lines.size() == most_told) {
      lines.push_back(fmt::format("and {} more", config.profiles.size() - most_told));
      break;
    }
    lines.push_back(fmt::format("{}: {}", profile.name, mismatch_of(profile, node, machine)));
  }
  return lines;
}

}  // namespace lockstep::spank
