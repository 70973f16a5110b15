#include <algorithm>

#include "core/text.h"
#include "site/glob.h"
#include "site/profile.h"

namespace lockstep::spank {

namespace {

bool any_matches(const std::vector<std::string>& patterns, std::string_view text) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return glob_matches(pattern, text); });
}

std::string_view without_0x(std::string_view id) {
  if (id.starts_with("0x")) id.remove_prefix(2);
  return id;
}

bool has_device(const Machine& machine, const std::vector<std::string>& patterns) {
  return std::any_of(machine.devices.begin(), machine.devices.end(), [&](const PciDevice& device) {
    std::string id(without_0x(device.vendor));
    id.append(":").append(without_0x(device.device));
    return any_matches(patterns, id);
  });
}

bool matches(const Profile& profile, const std::string& node, const Machine& machine) {
  return (profile.nodes.empty() || any_matches(profile.nodes, node)) &&
         (profile.products.empty() || any_matches(profile.products, trim(machine.product))) &&
         (profile.pci.empty() || has_device(machine, profile.pci));
}

// A device or a product that has not been read yet could make it match.
bool cannot_tell(const Profile& profile, const std::string& node, const Machine& machine) {
  return !machine.complete && !(profile.pci.empty() && profile.products.empty()) &&
         (profile.nodes.empty() || any_matches(profile.nodes, node));
}

}  // namespace

Profile choose_profile(const SiteConfig& config, const std::string& node, const Machine& machine) {
  const auto found =
      std::find_if(config.profiles.begin(), config.profiles.end(), [&](const Profile& profile) {
        return matches(profile, node, machine) || cannot_tell(profile, node, machine);
      });
  // A guess could set what another profile would not.
  if (found == config.profiles.end() || !matches(*found, node, machine)) return Profile{};
  return *found;
}

}  // namespace lockstep::spank
