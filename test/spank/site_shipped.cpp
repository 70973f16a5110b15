// The profiles that are shipped: each is read, they can be put one after the other, and each finds its node.
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <map>

#include "site/profile.h"

using namespace lockstep::spank;

namespace {

const std::filesystem::path folder = "spank/profiles";

std::string text_of(const std::string& name) {
  std::ifstream file(folder / (name + ".conf"));
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The special before the general.
const std::vector<std::string> in_order = {"azure-nd-v5", "azure-nd-v4", "oci-h100", "efa",
                                           "slingshot",   "infiniband",  "roce",     "ethernet"};

SiteConfig all_shipped() {
  std::string text;
  for (const std::string& name : in_order) text += text_of(name);
  return parse_site_config(text, "all");
}

Machine machine_with(const std::string& product,
                     const std::vector<std::pair<std::string, std::string>>& devices) {
  Machine machine;
  machine.product = product;
  for (const auto& [vendor, id] : devices) {
    PciDevice device;
    device.vendor = vendor;
    device.device = id;
    machine.devices.push_back(device);
  }
  return machine;
}

std::string constant(const Profile& profile, const std::string& variable) {
  const auto found = std::find_if(profile.constants.begin(), profile.constants.end(),
                                  [&](const Constant& constant) { return constant.variable == variable; });
  return found == profile.constants.end() ? "none" : found->value;
}

}  // namespace

TEST_CASE("every shipped file is read and named after its profile", "[site][shipped]") {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".conf") continue;
    ++files;
    const std::string name = entry.path().stem().string();
    const SiteConfig config = parse_site_config(text_of(name), name);
    REQUIRE(config.profiles.size() == 1);
    CHECK(config.profiles.front().name == name);
    CHECK((name == "example" || std::count(in_order.begin(), in_order.end(), name) == 1));
  }
  CHECK(files == in_order.size() + 1);
}

TEST_CASE("the example shows every key", "[site][shipped]") {
  const std::string text = text_of("example");
  for (const char* key : {"match", "interfaces", "hca", "gid-index", "topology", "address", "ports", "mode",
                          "torch", "debug-file"}) {
    CAPTURE(key);
    CHECK(text.find("\n" + std::string(key) + " = ") != std::string::npos);
  }
}

TEST_CASE("the shipped profiles one after the other find each its node", "[site][shipped]") {
  const SiteConfig config = all_shipped();
  CHECK(config.profiles.size() == in_order.size());
  const auto chosen = [&](const std::string& node, const Machine& machine) {
    return choose_profile(config, node, machine).name;
  };
  CHECK(chosen("n1", machine_with("Virtual Machine", {{"0x10de", "0x2330"}, {"0x15b3", "0x101e"}})) ==
        "azure-nd-v5");
  CHECK(chosen("n1", machine_with("Virtual Machine", {{"0x10de", "0x20b0"}})) == "azure-nd-v4");
  CHECK(chosen("n1", machine_with("Virtual Machine", {{"0x10de", "0x20b2"}})) == "azure-nd-v4");
  CHECK(chosen("n1", machine_with("ORACLE SERVER E5-2c", {{"0x10de", "0x2330"}, {"0x15b3", "0x1021"}})) ==
        "oci-h100");
  CHECK(chosen("n1", machine_with("PowerEdge XE9680", {{"0x10de", "0x2330"}, {"0x15b3", "0x1021"}})) ==
        "infiniband");
  CHECK(chosen("n1", machine_with("p5.48xlarge", {{"0x10de", "0x2330"}, {"0x1d0f", "0xefa1"}})) == "efa");
  CHECK(chosen("n1", machine_with("", {{"0x17db", "0x0501"}})) == "slingshot");
  CHECK(chosen("n1", machine_with("", {{"0x1590", "0x0371"}})) == "slingshot");
  CHECK(chosen("n1", machine_with("", {{"0x15b3", "0x1021"}})) == "infiniband");
  CHECK(chosen("n1", machine_with("", {{"0x8086", "0x1572"}})) == "ethernet");
}

TEST_CASE("shipped values are those of their sources", "[site][shipped]") {
  std::map<std::string, Profile> profiles;
  for (const Profile& profile : all_shipped().profiles) profiles[profile.name] = profile;
  CHECK(profiles["azure-nd-v5"].topology == "/opt/microsoft/ndv5/topo.xml");
  CHECK(profiles["azure-nd-v4"].topology == "/opt/microsoft/ndv4/topo.xml");
  CHECK(profiles["oci-h100"].hcas.size() == 16);
  CHECK(profiles["oci-h100"].gid_index == 3);
  CHECK(profiles["slingshot"].interfaces == std::vector<std::string>{"hsn*"});
  CHECK(constant(profiles["slingshot"], "NCCL_NET") == "AWS Libfabric");
  CHECK(constant(profiles["slingshot"], "NCCL_PROTO") == "^LL128");
  CHECK(constant(profiles["efa"], "FI_PROVIDER") == "efa");
  CHECK(profiles["efa"].hca_rule == Profile::HcaRule::none);
  CHECK(profiles["infiniband"].constants.empty());
  CHECK(profiles["roce"].constants.empty());
}
