// The site's file: whatever it holds, it is read or refused in one short line, and the choice of a profile
// ends.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "site/profile.h"

using namespace lockstep::spank;

extern "C" const char* const fuzz_dictionary[] = {
    "[profile ", "]",          "\n",         " = ",         "match",     "node:",     "pci:",
    "product:",  "interfaces", "hca",        "auto",        "min-rate ", "gid-index", "topology",
    "address",   "%h",         "ports",      "20000-31999", "mode",      "torch",     "debug-file",
    "/%r",       "NCCL_IB_TC", "NCCL_DEBUG", "# ",          nullptr};

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

Machine small_machine() {
  Machine machine;
  machine.product = "Virtual Machine";
  machine.devices.emplace_back();
  machine.devices.back().vendor = "0x10de";
  machine.devices.back().device = "0x2330";
  return machine;
}

// What the rest of the plugin relies on.
void check(const Profile& profile) {
  require(!profile.name.empty() && profile.name != "built-in");
  require(profile.port_first >= 1024 && profile.port_last <= 65535);
  require(profile.port_last - profile.port_first + 1 >= 1000);
  require((profile.hca_rule == Profile::HcaRule::listed) == !profile.hcas.empty());
  require((profile.gid_rule == Profile::GidRule::fixed) == (profile.gid_index >= 0));
  require(profile.topology.empty() || profile.topology == "generate" || profile.topology.front() == '/');
  require(profile.address.find('%') != std::string::npos);
  for (const Constant& constant : profile.constants) {
    require(!constant.value.empty() && constant.value.size() < 1000 && constant.line > 0);
    require(!constant.variable.starts_with("LD_") && constant.variable != "PATH");
    for (const char c : constant.variable + constant.value) require(c >= ' ' && c <= '~');
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const SiteConfig config = parse_site_config(text, "site.conf");
    for (const Profile& profile : config.profiles) check(profile);
    (void)choose_profile(config, "gpu-1", small_machine());
  } catch (const SiteConfigError& error) {
    const std::string line = error.what();
    require(line.starts_with("site.conf:"));
    require(line.size() < 2500);
    for (const char c : line) require(c >= ' ' && c <= '~');
  }
  return 0;
}
