// The site's configuration file: profiles of node types in INI form (docs/nccl-profiles.md has the keys).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "machine/machine.h"
#include "site/mode.h"

namespace lockstep::spank {

// "FILE:LINE: what is wrong; what to do", in one line.
class SiteConfigError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A variable that the profile sets, its type checked.
struct Constant {
  std::string variable;
  std::string value;
  int line = 0;
};

struct Profile {
  std::string name = "built-in";
  std::string file;  // empty: built in
  int line = 0;

  // A profile matches where every kind that it names matches; of a kind, one pattern is enough.
  std::vector<std::string> nodes;     // globs of the node's name
  std::vector<std::string> pci;       // "10de:2330" vendor:device, a glob; any device of the node
  std::vector<std::string> products;  // globs of the DMI product name

  std::vector<std::string> interfaces;           // globs, best first; empty: the rule alone
  std::vector<std::string> excluded_interfaces;  // globs
  enum class HcaRule { automatic, none, listed } hca_rule = HcaRule::automatic;
  std::vector<std::string> hcas;  // `listed`: names, mlx5_0 or mlx5_0:1
  double hca_min_rate_gbps = 0;
  enum class GidRule { leave, automatic, fixed } gid_rule = GidRule::leave;
  int gid_index = -1;          // `fixed`
  std::string topology;        // empty: none; "generate"; or an absolute path
  std::string address = "%h";  // MASTER_ADDR from rank 0's node: %h its name, %s the name up to the first dot
  int port_first = 20000;      // for steps without reserved ports
  int port_last = 31999;
  std::optional<Mode> mode;
  std::optional<TorchMode> torch;
  std::string debug_file;  // NCCL_DEBUG_FILE for each rank; empty: none
  std::vector<Constant> constants;
};

struct SiteConfig {
  std::string file;
  std::vector<Profile> profiles;
  std::uint64_t hash = 0;  // of the file's bytes; 0: no file
};

// Throws SiteConfigError.
SiteConfig parse_site_config(std::string_view text, const std::string& file);

// Also throws SiteConfigError where the file is missing, no plain file, larger than 1 MiB, not owned by
// `owner`, or writable by group or others.
SiteConfig read_site_config(const std::filesystem::path& path, unsigned owner = 0);

// The first profile that matches; a built-in one, which sets no constants, where none does, and where the
// machine is not complete and a profile could match for all that is known.
Profile choose_profile(const SiteConfig& config, const std::string& node, const Machine& machine);

}  // namespace lockstep::spank
